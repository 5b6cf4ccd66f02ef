import Foundation

@testable import LLVSCore
@testable import StoreSupport

// A second reader of bundles, made from docs/formats.md and from nothing else: it uses
// none of the program's own decoders. Of the program it borrows SHA-256 and zstd.

/// A bundle as docs/formats.md describes it.
struct PageBundle {
  struct Claim: Hashable {
    var writer: String
    var upTo: Int
    var kept: [Int]
  }

  struct Need: Hashable {
    var writer: String
    var sequence: Int
    var hashStart: [UInt8]
  }

  enum Value: Hashable {
    case inline([UInt8])
    case item(Int, Int)
    case leftOut([UInt8], Int, Int)
    case forgotten([UInt8], Int)
  }

  struct Change: Hashable {
    var kind: UInt64
    var key: [UInt8]
    var value: Value?
    var id: [UInt8]?
  }

  struct Version {
    var id: [UInt8]
    /// Each an id, or how many versions before.
    var predecessors: [(id: [UInt8]?, distance: Int)]
    var time: UInt64
    var size: Int
    var metadata: [[UInt8]: [UInt8]]
    var contentDigest: [UInt8]?
    var changes: [Change]
  }

  /// The bytes of a patch are its frame.
  var items: [(kind: UInt64, digest: [UInt8], bytes: [UInt8], length: Int, bases: [[UInt8]])] = []
  var versions: [Version] = []
  var others: [[UInt8]] = []
  var needs: [Need] = []
  var claims: [Claim] = []
  var from: [Int] = []
  var filled: [Need] = []

  init(_ file: [UInt8], named name: String) throws {
    let parts = name.split(separator: "-").map(String.init)
    guard parts.count == 4, parts[1].utf8.count >= 10, parts[2] == "\(file.count)",
      parts[3] == "\(Digest.of(file).hex).bundle"
    else { throw PageBytes.Wrong("the name of a bundle") }
    var bytes = PageBytes(Array(file.dropLast(48)))
    try bytes.expect("LLVSBDL")
    guard try bytes.number(1) == 4, try bytes.number(4) == 0 else {
      throw PageBytes.Wrong("the head of a bundle")
    }
    var tail = PageBytes(Array(file.suffix(48)))
    let (stands, unpacked) = try (tail.count(4), tail.count(4))
    let hash = try tail.take(32)
    try tail.expect("LLVSBDP4")
    let standing = Array(file.dropLast(48).suffix(stands))
    guard Digest.of(standing).bytes == hash else { throw PageBytes.Wrong("the directory's hash") }
    var directory = PageBytes(try Self.unpacked(standing, unpacked))
    guard try directory.take(directory.count(1)) == Array(parts[0].utf8),
      try directory.varint() == Int(parts[1])
    else { throw PageBytes.Wrong("a directory of another bundle") }
    let content = try (0..<directory.varint()).map { _ in
      try (directory.varint(), directory.varint(), directory.varint())
    }
    var hashed: [[(Int, Int, [UInt8])]] = []
    for _ in 0..<2 {
      hashed.append(
        try (0..<directory.varint()).map { _ in
          try (directory.varint(), directory.varint(), directory.take(32))
        })
    }
    let entries = try directory.varint()
    needs = try Self.needs(&directory)
    claims = try (0..<directory.varint()).map { _ in
      Claim(
        writer: try Self.text(&directory), upTo: try directory.varint(),
        kept: try Self.runs(&directory))
    }
    from = try Self.runs(&directory)
    filled = try Self.needs(&directory)
    guard directory.isAtEnd else { throw PageBytes.Wrong("more than a directory") }

    var frames: [(bytes: [UInt8], unpacked: Int, items: Int)] = []
    for (stands, unpacked, items) in content {
      frames.append((try bytes.take(stands), unpacked, items))
    }
    var streams: [[UInt8]] = []
    for part in hashed {
      var stream: [UInt8] = []
      for (stands, unpacked, hash) in part {
        let standing = try bytes.take(stands)
        guard Digest.of(standing).bytes == hash else { throw PageBytes.Wrong("a frame's hash") }
        stream += try Self.unpacked(standing, unpacked)
      }
      streams.append(stream)
    }
    guard try bytes.rest() == standing else { throw PageBytes.Wrong("frames before a directory") }
    var table = PageBytes(streams[1])
    for frame in frames {
      var content: PageBytes?
      for _ in 0..<frame.items {
        let (kind, digest, length) = try (table.number(1), table.take(32), table.varint())
        guard kind < 128 else {
          let bases = try (0..<table.count(1)).map { _ in try table.take(32) }
          guard frame.items == 1, frame.unpacked == length, kind == 128, !bases.isEmpty else {
            throw PageBytes.Wrong("a patch that is not alone in its frame")
          }
          items.append((0, digest, frame.bytes, length, bases))
          continue
        }
        var rest = try content ?? PageBytes(Self.unpacked(frame.bytes, frame.unpacked))
        items.append((kind, digest, try rest.take(length), length, []))
        content = rest
      }
      guard content?.isAtEnd ?? true else {
        throw PageBytes.Wrong("a frame that its items do not fill")
      }
    }
    guard table.isAtEnd else { throw PageBytes.Wrong("a table of more items") }
    var outline = PageBytes(streams[0])
    for _ in 0..<entries {
      var entry = PageBytes(try outline.take(outline.varint()))
      let type = try entry.number(1)
      if type == 0 {
        versions.append(try Self.version(&entry))
      } else {
        others.append([UInt8(type)] + (try entry.rest()))
      }
    }
    guard outline.isAtEnd else { throw PageBytes.Wrong("an outline of more entries") }
  }

  private static func unpacked(_ bytes: [UInt8], _ length: Int) throws -> [UInt8] {
    if bytes.count == length { return bytes }
    guard let whole = Zstd.unpack(bytes, atMost: length), whole.count == length else {
      throw PageBytes.Wrong("a part that does not unpack")
    }
    return whole
  }

  private static func needs(_ bytes: inout PageBytes) throws -> [Need] {
    try (0..<bytes.varint()).map { _ in
      Need(
        writer: try text(&bytes), sequence: try bytes.varint(), hashStart: try bytes.take(8))
    }
  }

  private static func text(_ bytes: inout PageBytes) throws -> String {
    String(decoding: try bytes.take(bytes.count(1)), as: UTF8.self)
  }

  private static func runs(_ bytes: inout PageBytes) throws -> [Int] {
    var (numbers, next) = ([Int](), 0)
    for _ in 0..<(try bytes.varint()) {
      let first = next + (try bytes.varint())
      next = first + (try bytes.varint())
      numbers += first..<next
    }
    return numbers
  }

  private static func id(_ bytes: inout PageBytes) throws -> [UInt8] {
    let length = try bytes.count(1)
    return try bytes.take(length == 0 ? 16 : length)
  }

  private static func version(_ entry: inout PageBytes) throws -> Version {
    let id = try id(&entry)
    let flags = try entry.number(1)
    let predecessors = try (0..<entry.count(1)).map { _ -> (id: [UInt8]?, distance: Int) in
      let distance = try entry.varint()
      return (distance == 0 ? try Self.id(&entry) : nil, distance)
    }
    let (time, size) = try (entry.number(8), entry.varint())
    var metadata: [[UInt8]: [UInt8]] = [:]
    for _ in 0..<(try entry.varint()) {
      let key = try entry.take(entry.varint())
      metadata[key] = try entry.take(entry.varint())
    }
    let digest = flags == 1 ? try entry.take(32) : nil
    var changes: [Change] = []
    while !entry.isAtEnd {
      var change = Change(kind: try entry.number(1), key: try entry.take(entry.varint()))
      switch change.kind {
      case 1, 2: change.value = try value(&entry)
      case 3, 5: break
      case 4: change.id = try Self.id(&entry)
      default: throw PageBytes.Wrong("a change of no known kind")
      }
      changes.append(change)
    }
    return Version(
      id: id, predecessors: predecessors, time: time, size: size, metadata: metadata,
      contentDigest: digest, changes: changes)
  }

  private static func value(_ entry: inout PageBytes) throws -> Value {
    switch try entry.number(1) {
    case 0: .inline(try entry.take(entry.varint()))
    case 1: .item(try entry.varint(), try entry.varint())
    case 2: .leftOut(try entry.take(32), try entry.varint(), try entry.varint())
    case 3: .forgotten(try entry.take(32), try entry.varint())
    default: throw PageBytes.Wrong("a value of no known form")
    }
  }

  // MARK: The bytes of values

  /// Returns the bytes of a value, from this bundle and the bundles that it needs; nil if some are in
  /// none of them.
  func bytes(of value: Value, with others: [PageBundle] = []) throws -> [UInt8]? {
    let all = (others + [self]).flatMap(\.items)
    func find(_ kind: UInt64, _ digest: [UInt8]) -> [UInt8]? {
      let found = all.filter { $0.kind == kind && $0.digest == digest }
      if let whole = found.first(where: { $0.bases.isEmpty }) { return whole.bytes }
      guard let patch = found.first else { return nil }
      var prefix: [UInt8] = []
      for base in patch.bases {
        guard let whole = all.first(where: { $0.digest == base && $0.bases.isEmpty }) else {
          return nil
        }
        prefix += whole.bytes
      }
      return Compression().undelta(patch.bytes[...], from: prefix, length: patch.length)
    }
    func below(_ node: [UInt8]) throws -> [UInt8]? {
      var node = PageBytes(node)
      _ = try node.number(1)
      var bytes: [UInt8] = []
      while !node.isAtEnd {
        let (tag, length) = try (node.number(1), node.count(8))
        switch tag {
        case 1: bytes += [UInt8](repeating: 0, count: length)
        case 0:
          guard let chunk = find(0, try node.take(32)) else { return nil }
          bytes += chunk
        default:
          guard let child = find(1, try node.take(32)), let rest = try below(child) else {
            return nil
          }
          bytes += rest
        }
      }
      return bytes
    }
    switch value {
    case .inline(let bytes): return bytes
    case .item(let number, let length):
      let item = items[number]
      let found = find(item.kind, item.digest)
      let bytes = item.kind == 0 ? found : try found.flatMap { try below($0) }
      guard bytes?.count == length else { throw PageBytes.Wrong("the length of a value") }
      return bytes
    case .leftOut(let digest, let length, _):
      guard let item = find(length > 65_536 ? 2 : 0, digest) else { return nil }
      return length > 65_536 ? try below(item) : item
    case .forgotten: return nil
    }
  }
}
