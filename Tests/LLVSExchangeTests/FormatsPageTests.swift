import Foundation
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// What is written is as docs/formats.md says: a reader made from that page alone finds it all.
@Suite(.timeLimit(.minutes(2)))
struct FormatsPageTests {
  private let place: ExchangePlace

  init() throws { place = try ExchangePlace() }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// Values of every length that is kept differently, among so many that the map has levels.
  private static func values() -> [Value] {
    var random = SeededRandom(seed: 7)
    let zeros = [UInt8](repeating: 0, count: 200_000)
    var values = [
      Value(id: Value.ID("none"), data: []), Value(id: Value.ID("one"), data: [1]),
      Value(id: Value.ID("inline"), data: random.bytes(128)),
      Value(id: Value.ID("chunk"), data: random.bytes(129)),
      Value(id: Value.ID("text"), data: [UInt8](repeating: 97, count: 65_536)),
      Value(id: Value.ID("tree"), data: random.bytes(65_537)),
      Value(id: Value.ID("holes"), data: random.bytes(50) + zeros + random.bytes(90_000)),
      Value(id: Value.ID("long"), data: random.bytes(3_000_000)),
    ]
    for index in 0..<600 {
      values.append(Value(id: Value.ID("many/\(index)"), data: Array("\(index)".utf8)))
    }
    return values
  }

  /// A version of all values, and one that changes, adds and removes some.
  private func fill(_ store: Store) throws -> (all: [Value], changed: [Value]) {
    let all = Self.values()
    let first = try store.makeVersion(basedOnPredecessor: nil, inserting: all)
    var changed = [
      Value(id: Value.ID("many/7"), data: Array("now".utf8)),
      Value(id: Value.ID("many/450"), data: Array("then".utf8)),
    ]
    // Stored as patches.
    for index in [5, 7] {
      var value = all[index]
      value.data[50_000] ^= 1
      changed.append(value)
    }
    _ = try store.makeVersion(
      basedOnPredecessor: first.id, inserting: [Value(id: Value.ID("new"), data: [2])],
      updating: changed, removing: [Value.ID("one")])
    return (all, changed)
  }

  @Test("a store's segments, maps, values and catalog are read by the page")
  func store() throws {
    let expected: (all: [Value], changed: [Value])
    do {
      let store = try place.store("s")
      expected = try fill(store)
    }
    let versions = try PageStore(place.directory.file("s")).versions()
    #expect(versions.map(\.number) == [1, 2])
    var held = Dictionary(expected.all.map { (Array($0.id.rawValue.utf8), $0.data) }) { $1 }
    for version in versions {
      if version.number == 2 {
        for value in expected.changed { held[Array(value.id.rawValue.utf8)] = value.data }
        held[Array("one".utf8)] = nil
        held[Array("new".utf8)] = [2]
      }
      let found = Dictionary(version.entries.map { ($0.key, $0.bytes) }) { $1 }
      #expect(found.count == version.entries.count)
      #expect(found == held, "version \(version.number)")
      #expect(version.entries.map(\.key).isSorted)
      let changed = version.entries.filter { $0.storingVersion == 2 }.map(\.key)
      #expect(changed.count == (version.number == 2 ? 5 : 0))
      let digest = try #require(version.metadata["llvs.digest"])
      #expect(digest.first == UInt8(ascii: "\"") && digest.count == 66)
    }
  }

  @Test("a bundle is read by the page")
  func bundle() throws {
    let store = try place.store("s")
    _ = try fill(store)
    let folder = place.folder
    try FolderFormat.bundles.send(store, folder)
    let name = try #require(try FileSystem.list("\(folder)/bundles").first)
    let file = try FileSystem.read("\(folder)/bundles/\(name)", atMost: 64 << 20)
    let found = try PageBundle(file, named: name)
    let versions = try PageStore(store.path).versions()
    func id(_ version: PageStore.Version) -> String {
      version.id.filter { $0 != "-" }.lowercased()
    }
    let kinds = Dictionary(
      found.versions.map { (Self.hex($0.id), $0.changes.map(\.kind).sorted()) }
    ) { $1 }
    #expect(kinds[id(versions[0])] == [UInt64](repeating: 1, count: 608))
    #expect(kinds[id(versions[1])] == [1, 2, 2, 2, 2, 3])
    #expect(kinds.count == 2)
    // And the bytes of every value.
    let all = Dictionary(Self.values().map { (Array($0.id.rawValue.utf8), $0.data) }) { $1 }
    for change in found.versions[0].changes {
      let value = try #require(change.value)
      #expect(try found.bytes(of: value) == all[change.key])
    }
  }
}

extension [[UInt8]] {
  /// True if each element comes before the next, by bytes.
  fileprivate var isSorted: Bool {
    zip(self, dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
  }
}
