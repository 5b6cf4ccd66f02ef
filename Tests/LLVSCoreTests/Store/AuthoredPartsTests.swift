import LLVSCore
import Platform
import TestSupport
import Testing

@testable import LLVSExchange
@testable import StoreSupport

/// Changes with more extended attributes than one version may carry.
@Suite(.timeLimit(.minutes(2)))
struct AuthoredPartsTests {
  private static let limit = 20_000

  private let place: ExchangePlace
  private let store: Store

  init() throws {
    place = try ExchangePlace()
    store = try place.store("a")
  }

  private func attributes(_ length: Int, _ random: inout SeededRandom) -> Attributes {
    let lengths = length == 0 ? [] : [length / 3, length - length / 3]
    return Attributes(
      mode: UInt32.random(in: 0...0o777, using: &random),
      extended: zip(["user.a", "user.b"], lengths).map {
        Attributes.Extended(name: Array($0.utf8), value: random.bytes($1))
      })
  }

  /// A version that puts and removes values and directories, each with attributes of some length.
  private func add(
    on base: VersionRecord?, _ random: inout SeededRandom, limit: Int
  ) throws -> (last: VersionRecord, map: ValueMap) {
    let map = store.map(base?.map ?? .empty)
    return try store.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      var edits: [MapEdit] = []
      for index in 0..<60 {
        let isDirectory = index % 3 == 0
        let key = Key("k\(100 + index)")
        let old = try map.entry(at: key, directory: isDirectory)
        let choice = Int.random(in: 0..<5, using: &random)
        if choice == 0 { continue }
        if choice == 1 {
          if old != nil { edits.append(.remove(key, directory: isDirectory)) }
          continue
        }
        let length = Bool.random(using: &random) ? 0 : Int.random(in: 1...4000, using: &random)
        var stored = StoredContent(length: 0, digest: .ofNothing, content: .none)
        if !isDirectory { stored = try transaction.write(random.bytes(20)) }
        var entry = Entry(
          key: key, kind: isDirectory ? .directory : .regular,
          attributes: attributes(length, &random), stored: stored, storedVersion: number,
          revision: try transaction.allotRevisions())
        if choice == 2, let old {
          (entry.stored, entry.storedVersion) = (old.stored, old.storedVersion)
        }
        edits.append(.put(entry))
      }
      edits.sort(by: MapEdit.precedes)
      let next = try ValueMap(root: map.root, storage: transaction.nodes, cache: map.cache)
        .applying(edits: edits)
      var draft = AuthoredVersion(
        number: number, first: base?.number, base: map, map: next, message: "much")
      draft.extendedLimit = limit
      return (try transaction.add(draft), next)
    }
  }

  /// The bytes of the extended attributes that a version tells of.
  private func length(of record: VersionRecord) throws -> Int {
    let metadata = try store.metadata(of: record)
    var length = 0
    for list in [AttributeList.values, .directories] {
      var reader = AttributeReader(list, of: metadata)
      while let item = try reader.next() {
        length += item.attributes.extended.reduce(0) { $0 + $1.name.count + $1.value.count }
      }
    }
    return length
  }

  @Test(
    "They come in several versions, none with too many, and every peer takes them",
    arguments: 1...4 as ClosedRange<UInt64>)
  func parts(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let (base, _) = try add(on: nil, &random, limit: .max)
    let (last, map) = try add(on: base, &random, limit: Self.limit)
    #expect(last.map == map.root)
    var names: Set<String> = []
    var chain: [VersionRecord] = []
    var next: VersionRecord? = last
    while let record = next, record.number != base.number {
      chain.append(record)
      names.insert(record.name)
      #expect(try length(of: record) <= Self.limit)
      #expect(try store.metadata(of: record)[.message]?.value() == "much")
      next = try record.first.flatMap { try store.version($0) }
    }
    #expect(chain.count > 1, "seed \(seed)")
    #expect(next != nil && names.count == chain.count)
    #expect(try store.headNumbers() == [last.number])
    // All bytes and names are in the first of them.
    let first = try #require(chain.last)
    var diff = try MapDiff(from: store.map(of: first), to: store.map(of: last))
    while let change = try diff.next() {
      let (old, new) = (try #require(change.old), try #require(change.new))
      #expect(old.stored == new.stored && old.kind == new.kind && old.revision != new.revision)
    }
    #expect(try store.verify().damage == [])
    for format in FolderFormat.allCases {
      let peer = try place.store("\(format)")
      let folder = "\(place.folder)/\(format)"
      try FileSystem.makeDirectory(folder)
      _ = try format.send(store, folder)
      let report = try format.retrieve(into: peer, folder)
      #expect(report.refused.isEmpty && report.waiting.isEmpty)
      let there = try #require(try peer.version(last.id))
      #expect(peer.map(of: there).contentDigest == store.map(of: last).contentDigest)
    }
  }

  @Test("What one version may carry is one version")
  func whole() throws {
    var random = SeededRandom(seed: 1)
    let (base, _) = try add(on: nil, &random, limit: .max)
    let (last, _) = try add(on: base, &random, limit: 60 * 4100)
    #expect(last.first == base.number)
  }
}
