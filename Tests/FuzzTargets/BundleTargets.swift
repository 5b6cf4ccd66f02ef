import Foundation
import Platform

@testable import LLVSCore
@testable import LLVSExchange

/// Bundles, which are in folders that anybody may write to. Hashes stand before their parts, so the parts are put behind hashes that are
/// theirs.
enum BundleTargets {
  private static let name = BundleName(writer: "w", sequence: 3, length: 400, hash: .ofNothing)

  // MARK: Directories

  /// A directory that is read is written as the same bytes, and is within its bounds.
  static func directory(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    for space in [0, 100, 200] as [UInt64] {
      let read = bytes.withUnsafeBytes { raw in
        Result<BundleDirectory, StoreError> { () throws(StoreError) in
          try BundleDirectory(raw, of: name, space: space, isSealed: false)
        }
      }
      switch read {
      case .success(let directory):
        try expect(directory.encoded() == bytes, "a directory has two spellings")
        let stands =
          directory.content.map(\.stands) + (directory.outline + directory.table).map(\.stands)
        try expect(stands.reduce(0, +) == Int(space), "frames that do not fill the file")
        try expect(directory.items <= BundleFormat.maximumItems, "items without bound")
      case .failure(.invalid): break
      case .failure(let error):
        throw FuzzTarget.Failure(description: "a directory is refused for another reason: \(error)")
      }
    }
  }

  static let directorySeeds: [[UInt8]] = {
    var empty = BundleDirectory(writer: "w", sequence: 3)
    empty.stays = [BundleClaim(writer: "w", upTo: 3, kept: SequenceRuns([3]))]
    var full = empty
    full.content = [.init(stands: 50, unpacked: 90, items: 2)]
    full.outline = [.init(stands: 20, unpacked: 20, hash: .ofNothing)]
    full.table = [.init(stands: 30, unpacked: 30, hash: .ofNothing)]
    full.entries = 2
    full.needs = [BundleNeed(writer: "other", sequence: 8, hashStart: 1)]
    full.stays.append(BundleClaim(writer: "gone", upTo: 9, kept: SequenceRuns([0, 1, 7])))
    full.from = SequenceRuns([0, 2])
    return [empty.encoded(), full.encoded()]
  }()

  // MARK: Tables, outlines and items

  /// The bytes are items, table and outline with a length of two bytes before the first two.
  static func bundle(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    var rest = bytes[...]
    func part() -> [UInt8] {
      let length = Int(rest.popFirst() ?? 0) << 8 | Int(rest.popFirst() ?? 0)
      defer { rest = rest.dropFirst(length) }
      return Array(rest.prefix(length))
    }
    let (items, table) = (part(), part())
    let outline = Array(rest)
    for entries in [1, 2, 3] {
      let file = file(items: items, table: table, outline: outline, entries: entries)
      let name = BundleName(
        writer: "w", sequence: 3, length: UInt64(file.count), hash: Digest.of(file))
      do throws(StoreError) {
        let reader = try BundleReader(name, BundleInMemory(bytes: file), cache: FrameCache())
        try read(reader)
      } catch {
        switch error {
        case .invalid, .fromTheFuture: break
        default:
          throw FuzzTarget.Failure(description: "a bundle is refused for another reason: \(error)")
        }
      }
    }
  }

  private static func read(_ reader: BundleReader) throws(StoreError) {
    let table = try reader.table()
    for number in table.items.indices {
      // An item that is damaged does not keep others from being read.
      _ = try? reader.item(number, in: table) { _ in [UInt8](repeating: 7, count: 300) }
    }
    let entries = try reader.entries()
    for entry in entries where entry.id != nil {
      let description = try reader.description(of: entry) { _ in Version.ID("before") }
      let stream = OutlineStream(reader, description.changes, label: "fuzz")
      while !stream.isAtEnd { _ = try stream.change(in: reader.directory) }
    }
  }

  private static func file(
    items: [UInt8], table: [UInt8], outline: [UInt8], entries: Int
  ) -> [UInt8] {
    var directory = BundleDirectory(writer: "w", sequence: 3)
    func frame(_ bytes: [UInt8]) -> [BundleDirectory.HashedFrame] {
      guard !bytes.isEmpty else { return [] }
      return [.init(stands: bytes.count, unpacked: bytes.count, hash: Digest.of(bytes))]
    }
    if !items.isEmpty {
      // As many items as the table has entries of the least length, one at least.
      directory.content = [
        .init(
          stands: items.count, unpacked: items.count,
          items: max(1, min(items.count, table.count / 34)))
      ]
    }
    directory.outline = frame(outline)
    directory.table = frame(table)
    directory.entries = entries
    directory.stays = [BundleClaim(writer: "w", upTo: 3, kept: SequenceRuns([3]))]
    let encoded = directory.encoded()
    var file = BundleFormat.head(isSealed: false) + items + outline + table + encoded
    file.append(bigEndian: UInt32(encoded.count))
    file.append(bigEndian: UInt32(encoded.count))
    file.append(Digest.of(encoded))
    return file + BundleFormat.tailMagic(isSealed: false)
  }

  static let bundleSeeds: [[UInt8]] = {
    var seeds: [[UInt8]] = []
    for count in 1...3 {
      var (items, table, outline) = ([UInt8](), [UInt8](), [UInt8]())
      for index in 0..<count {
        let bytes = [UInt8](repeating: UInt8(index), count: 40)
        items += bytes
        table += [0] + Digest.of(bytes).bytes + [40]
        var changes: [UInt8] = []
        for change in [
          OutlineChange.insert(Key("a"), .item(index, length: 40)),
          .update(Key("b"), .inline([1, 2])), .remove(Key("c")),
          .preserve(Key("d"), Version.ID("v0")), .preserveRemoval(Key("e")),
          .insert(Key("f"), .leftOut(.ofNothing, length: 9, need: nil)),
        ] { try? changes.append(change) }
        var body: [UInt8] = [0, 2] + "v\(index)".utf8 + [0]
        body += index == 0 ? [0] : [1, 1]
        body += [0x40, 0, 0, 0, 0, 0, 0, UInt8(index), 0, 1, 1, 0x6D, 1, 0x31]
        outline.append(varint: UInt64(body.count + changes.count))
        outline += body + changes
      }
      func counted(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
      }
      seeds.append(counted(items) + counted(table) + outline)
    }
    return seeds
  }()
}

private struct BundleInMemory: BundleBytes {
  let bytes: [UInt8]

  func read(_ range: Range<UInt64>) -> [UInt8] {
    Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
  }

  func prepare(_ range: Range<UInt64>) {}
}
