import Foundation
import Platform
import SQLite

@testable import LLVSCore
@testable import StoreSupport

// A second reader of what a store writes, made from docs/formats.md and from nothing else: it uses none of
// the store's own decoders. Of the store it borrows the checksum, SHA-256 and zstd.

/// Bytes that are read in order.
struct PageBytes {
  struct Wrong: Error, CustomStringConvertible {
    let description: String
    init(_ text: String) { description = text }
  }

  let bytes: [UInt8]
  private var at = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { at == bytes.count }

  mutating func take(_ count: Int) throws -> [UInt8] {
    guard count >= 0, bytes.count - at >= count else { throw Wrong("the bytes end too early") }
    defer { at += count }
    return Array(bytes[at..<(at + count)])
  }

  mutating func number(_ size: Int) throws -> UInt64 {
    try take(size).reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func count(_ size: Int) throws -> Int { Int(try number(size)) }

  mutating func varint() throws -> Int {
    var (value, shift) = (0, 0)
    while true {
      let byte = Int(try number(1))
      value |= (byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
      shift += 7
    }
  }

  mutating func rest() throws -> [UInt8] { try take(bytes.count - at) }

  /// Takes what has to be here.
  mutating func expect(_ text: String) throws {
    guard try take(text.utf8.count).elementsEqual(text.utf8) else { throw Wrong("no \(text)") }
  }
}

/// A store's directory as docs/formats.md describes it.
struct PageStore {
  struct Place: Hashable {
    let segment: UInt64
    let offset: Int
    let length: Int

    init(_ bytes: inout PageBytes) throws {
      segment = try bytes.number(4)
      offset = try bytes.count(8)
      length = try bytes.count(4)
    }
  }

  /// What a map holds at a key.
  struct Entry: Equatable {
    let key: [UInt8]
    let kind: UInt64
    let bytes: [UInt8]
    /// Tag and bytes.
    let fields: [[UInt8]]
    let storingVersion: UInt64
  }

  struct Version {
    let number: Int64
    let id: String
    let metadata: [String: [UInt8]]
    let entries: [Entry]
  }

  private let path: String
  private let segments: [UInt64: [UInt8]]

  init(_ path: String) throws {
    self.path = path
    var segments: [UInt64: [UInt8]] = [:]
    for name in try FileSystem.list("\(path)/segments") {
      let bytes = try FileSystem.read("\(path)/segments/\(name)", atMost: 64 << 20)
      var header = PageBytes(bytes)
      try header.expect("LLVSSEG")
      _ = try (header.number(1), header.number(4), header.number(4), header.take(16))
      guard try header.number(8) == Checksum.of(Array(bytes[..<32])) else {
        throw PageBytes.Wrong("a segment's header")
      }
      segments[UInt64(name.dropLast(4)) ?? 0] = bytes
    }
    self.segments = segments
  }

  // MARK: - Records

  private func record(at place: Place, _ kind: UInt64) throws -> [UInt8] {
    guard let segment = segments[place.segment] else { throw PageBytes.Wrong("no segment") }
    var bytes = PageBytes(Array(segment[place.offset..<(place.offset + place.length)]))
    let fields = Array(bytes.bytes[..<12])
    guard try bytes.number(1) == kind else { throw PageBytes.Wrong("another kind of record") }
    let flags = try bytes.number(1)
    guard try bytes.number(2) == 0 else { throw PageBytes.Wrong("not zero") }
    let (length, rawLength, sum) = try (bytes.count(4), bytes.count(4), bytes.number(8))
    var payload = PageBytes(try bytes.rest())
    let computed = payload.bytes.withUnsafeBytes { Checksum.of($0, seed: Checksum.of(fields)) }
    guard payload.bytes.count == length, sum == computed else { throw PageBytes.Wrong("a record") }
    let raw: [UInt8]?
    switch flags {
    case 0: raw = payload.bytes
    case 1: raw = Zstd.unpack(payload.bytes, atMost: rawLength)
    case 3:
      // A patch of a chunk or of a value's node has several bases.
      let count = kind == 3 ? 1 : try payload.count(1)
      guard (1...32).contains(count) else { throw PageBytes.Wrong("a number of bases") }
      let places = try (0..<count).map { _ in try Place(&payload) }
      let base = try places.flatMap { try record(at: $0, kind) }
      raw = Compression().undelta(try payload.rest()[...], from: base, length: rawLength)
    default: throw PageBytes.Wrong("unknown flags")
    }
    guard let raw, raw.count == rawLength else { throw PageBytes.Wrong("a payload") }
    return raw
  }

  // MARK: - Values

  private static func hash(_ prefix: String, _ parts: [UInt8]...) -> [UInt8] {
    Digest.of(Array(prefix.utf8) + parts.flatMap(\.self)).bytes
  }

  private static func bytes(_ number: Int, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  /// The bytes below a node of a long value, and its digest.
  private func tree(at place: Place) throws -> (bytes: [UInt8], digest: [UInt8]) {
    var node = PageBytes(try record(at: place, 2))
    let level = UInt8(try node.number(1))
    var (out, items) = ([UInt8](), [UInt8]())
    for _ in 0..<(try node.count(2)) {
      let (tag, length) = try (node.number(1), node.count(8))
      items += [tag == 3 ? 2 : UInt8(tag)] + Self.bytes(length, 8)
      guard tag != 1 else {
        out += [UInt8](repeating: 0, count: length)
        continue
      }
      let digest = try node.take(32)
      let place = try Place(&node)
      if tag == 3 { _ = try node.number(8) }
      items += digest
      let below: (bytes: [UInt8], digest: [UInt8])
      if tag == 0 {
        let chunk = try record(at: place, 1)
        below = (chunk, Digest.of(chunk).bytes)
      } else {
        below = try tree(at: place)
      }
      guard below.digest == digest, below.bytes.count == length else {
        throw PageBytes.Wrong("an item of a value")
      }
      out += below.bytes
    }
    guard node.isAtEnd else { throw PageBytes.Wrong("a node of a value") }
    return (out, Self.hash("llvs value node 1", [level], items))
  }

  private func value(_ local: inout PageBytes, length: Int, digest: [UInt8]) throws -> [UInt8] {
    let (bytes, found): ([UInt8], [UInt8])
    switch try local.number(1) {
    case 0: (bytes, found) = ([], Digest.of([]).bytes)
    case 1:
      bytes = try local.take(local.count(1))
      found = Digest.of(bytes).bytes
    case 2:
      bytes = try record(at: Place(&local), 1)
      found = Digest.of(bytes).bytes
    case 3:
      let top = try tree(at: Place(&local))
      bytes = top.bytes
      found = Self.hash("llvs value 1", Self.bytes(bytes.count, 8), top.digest)
    default: throw PageBytes.Wrong("unknown content")
    }
    guard bytes.count == length, found == digest else { throw PageBytes.Wrong("a value's digest") }
    return bytes
  }

  // MARK: - Maps

  private func entry(_ item: inout PageBytes) throws -> (Entry, digest: [UInt8]) {
    var content = PageBytes(try item.take(item.count(4)))
    let all = content.bytes
    let kind = try content.number(1)
    let key = try content.take(content.count(4))
    let (length, digest) = try (content.count(8), content.take(32))
    var fields: [[UInt8]] = []
    while !content.isAtEnd {
      let tag = UInt8(try content.number(1))
      fields.append([tag] + (try content.take(content.count(4))))
    }
    let bytes = try value(&item, length: length, digest: digest)
    let version = try item.number(4)
    _ = try (item.number(8), item.number(8))
    let entry = Entry(
      key: key, kind: kind, bytes: bytes, fields: fields, storingVersion: version)
    return (entry, Digest.of(all).bytes)
  }

  /// The entries below a node of a map, and its digest.
  private func map(at place: Place) throws -> (entries: [Entry], digest: [UInt8]) {
    var node = PageBytes(try record(at: place, 3))
    guard try node.number(1) == 1 else { throw PageBytes.Wrong("another format of a node") }
    let level = UInt8(try node.number(1))
    let count = try node.count(2)
    var (entries, digests) = ([Entry](), [UInt8]())
    for _ in 0..<count {
      var item = PageBytes(try node.take(node.count(4) - 4))
      if level == 0 {
        let (entry, digest) = try entry(&item)
        entries.append(entry)
        digests += digest
      } else {
        _ = try (item.take(item.count(4)), item.number(1))
        let digest = try item.take(32)
        let below = try map(at: Place(&item))
        guard try item.count(8) == below.entries.count, below.digest == digest else {
          throw PageBytes.Wrong("a node below")
        }
        entries += below.entries
        digests += digest
      }
      guard item.isAtEnd else { throw PageBytes.Wrong("an item of a map") }
    }
    guard node.isAtEnd else { throw PageBytes.Wrong("a node of a map") }
    return (entries, Self.hash("llvs map node 1", [level], Self.bytes(count, 4), digests))
  }

  // MARK: - The catalog

  private static func metadata(_ column: [UInt8]) throws -> [String: [UInt8]] {
    var bytes = PageBytes(column)
    guard try bytes.number(1) == 0 else { throw PageBytes.Wrong("metadata elsewhere") }
    var metadata: [String: [UInt8]] = [:]
    for _ in 0..<(try bytes.count(4)) {
      let key = String(decoding: try bytes.take(bytes.count(4)), as: UTF8.self)
      metadata[key] = try bytes.take(bytes.count(4))
    }
    guard bytes.isAtEnd else { throw PageBytes.Wrong("metadata") }
    return metadata
  }

  /// All versions in the order stored; each map is read to its last byte and its digests computed.
  func versions() throws -> [Version] {
    let catalog = try Database(path: "\(path)/store.sqlite", mode: .readWrite)
    var rows: [(number: Int64, id: String, map: [UInt8], metadata: [UInt8])] = []
    try catalog.rows("SELECT number, id, map, metadata FROM versions ORDER BY number") { row in
      rows.append((row.integer(0), row.text(1), row.bytes(2), row.bytes(3)))
    }
    return try rows.map { row in
      var root = PageBytes(row.map)
      let place = try root.number(1) == 1 ? try Place(&root) : nil
      let (digest, count) = try (root.take(32), root.count(8))
      let found =
        try place.map { try map(at: $0) }
        ?? (entries: [], digest: Self.hash("llvs map node 1", [0], Self.bytes(0, 4)))
      guard found.digest == digest, found.entries.count == count, root.isAtEnd else {
        throw PageBytes.Wrong("the root of a map")
      }
      return Version(
        number: row.number, id: row.id, metadata: try Self.metadata(row.metadata),
        entries: found.entries)
    }
  }
}
