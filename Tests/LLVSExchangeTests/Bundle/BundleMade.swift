import Foundation
import Platform
import TestSupport

@testable import LLVSCore
@testable import LLVSExchange

struct BundleInMemory: BundleBytes {
  let bytes: [UInt8]

  func read(_ range: Range<UInt64>) -> [UInt8] {
    Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
  }

  func prepare(_ range: Range<UInt64>) {}
}

/// A bundle in memory, as a writer made it.
struct BundleMade {
  let name: BundleName
  let bytes: [UInt8]

  /// Writes a bundle with a body that adds items and versions.
  init(
    writer: String = "w", sequence: UInt64 = 3, scratch: String,
    stays: [BundleClaim]? = nil, from: SequenceRuns = SequenceRuns(),
    seal: BundleSeal? = nil,
    _ body: (BundleWriter) throws -> Void
  ) throws {
    var bytes: [UInt8] = []
    let maker = try BundleWriter(
      writer: writer, sequence: sequence, scratch: scratch, seal: seal
    ) { bytes.append(contentsOf: $0) }
    try body(maker)
    let own = BundleClaim(writer: writer, upTo: sequence, kept: SequenceRuns([sequence]))
    let (length, hash, _) = try maker.finish(stays: stays ?? [own], from: from)
    self.bytes = bytes
    name = BundleName(writer: writer, sequence: sequence, length: length, hash: hash)
  }

  /// Puts the parts of a file together that nothing is packed in.
  init(writer: String, _ parts: [UInt8], _ directory: BundleDirectory) {
    let encoded = directory.encoded()
    var bytes = BundleFormat.head(isSealed: false) + parts + encoded
    bytes.append(bigEndian: UInt32(encoded.count))
    bytes.append(bigEndian: UInt32(encoded.count))
    bytes.append(Digest.of(encoded))
    self.bytes = bytes + BundleFormat.tailMagic(isSealed: false)
    name = BundleName(
      writer: writer, sequence: directory.sequence, length: UInt64(self.bytes.count),
      hash: Digest.of(self.bytes))
  }

  /// Puts the file into a folder, and returns its name.
  @discardableResult
  func put(into folder: String) throws -> String {
    try Self.put(bytes, into: folder, writer: name.writer, sequence: name.sequence)
  }

  /// Puts any bytes into a folder as a bundle whose name has their length and hash.
  @discardableResult
  static func put(
    _ bytes: [UInt8], into folder: String, writer: String = "w", sequence: UInt64 = 3
  ) throws -> String {
    let directory = "\(folder)/bundles"
    if try !FileSystem.exists(directory) { try FileSystem.makeDirectory(directory) }
    let name = BundleName(
      writer: writer, sequence: sequence, length: UInt64(bytes.count), hash: Digest.of(bytes)
    ).text
    try File("\(directory)/\(name)", [.readWrite, .create, .truncate]).write(bytes, at: 0)
    return name
  }

  /// Returns the entry of a version whose predecessors are named by their ids; `changes` are bytes.
  static func entry(_ version: Version, _ changes: [UInt8] = []) throws -> [UInt8] {
    var description: [UInt8] = []
    try description.append(bundled: version) { _ in nil }
    return try entry(version.id, description, changes)
  }

  static func entry(
    _ id: Version.ID, _ description: [UInt8], _ changes: [UInt8]
  ) throws -> [UInt8] {
    var entry: [UInt8] = [BundleFormat.EntryType.version.rawValue]
    try entry.append(bundled: id)
    return entry + [0] + description + changes
  }

  func reader(_ cache: FrameCache = FrameCache()) throws -> BundleReader {
    try BundleReader(name, BundleInMemory(bytes: bytes), cache: cache)
  }

  /// Returns a version without metadata.
  static func version(_ id: String, after: [String] = [], _ time: Double = 1) -> Version {
    Version(
      id: Version.ID(id),
      predecessors: after.first.map {
        .init(idOfFirst: .init($0), idOfSecond: after.dropFirst().first.map { .init($0) })
      }, timestamp: time, valueDataSize: nil, metadata: [:])
  }

  /// Returns a spool with changes.
  static func changes(_ changes: [OutlineChange], scratch: String) throws -> Spool {
    let spool = Spool(directory: scratch)
    for change in changes {
      var bytes: [UInt8] = []
      try bytes.append(change)
      try bytes.withPiece { (piece) throws(StoreError) in try spool.append(piece) }
    }
    return spool
  }
}

extension BundleReader {
  /// Reads all that is in a bundle, and returns how much that is.
  @discardableResult
  func readAll() throws -> Int {
    let table = try table()
    var count = table.items.count
    for number in table.items.indices { count += try item(number, in: table).count }
    let entries = try entries()
    let ids = entries.compactMap(\.id)
    var index = 0
    for entry in entries where entry.id != nil {
      let description = try description(of: entry) { distance in
        distance <= UInt64(index) ? ids[index - Int(distance)] : nil
      }
      index += 1
      let stream = OutlineStream(self, description.changes, label: label)
      while !stream.isAtEnd {
        _ = try stream.change(in: directory)
        count += 1
      }
    }
    return count
  }
}
