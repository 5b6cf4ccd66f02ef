import Foundation
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// A folder that is read wholly, to find what is wrong with it.
@Suite(.timeLimit(.minutes(1)))
struct ReadAllTests {
  private let place: ExchangePlace
  private var folder: String { place.folder }

  init() throws { place = try ExchangePlace() }

  /// Three versions in a line, each sent by itself.
  private func send(_ format: FolderFormat) throws -> (store: Store, ids: [Version.ID]) {
    let store = try place.store("a")
    var ids: [Version.ID] = []
    for number in 0..<3 {
      var random = SeededRandom(seed: UInt64(number))
      ids.append(
        try store.makeVersion(
          basedOnPredecessor: ids.last,
          updating: [Value(id: .init("k\(number)"), data: random.bytes(3000))]
        ).id)
      _ = try format.send(store, folder)
    }
    return (store, ids)
  }

  private func read(_ format: FolderFormat, _ store: Store) throws -> ExchangeReport {
    try format.verify(for: store, folder)
  }

  @Test("what is sound is said to be", arguments: FolderFormat.allCases)
  func sound(_ format: FolderFormat) throws {
    _ = try send(format)
    let other = try place.store("copy")
    let report = try read(format, other)
    #expect(report.remoteIDs.count == 3 && report.refused.isEmpty && report.waiting.isEmpty)
    // Nothing is taken, and nothing is left in the store.
    #expect(try other.mostRecentHead == nil)
    #expect(try FileSystem.list(other.path).allSatisfy { !$0.hasSuffix(".tmp") })
  }

  @Test("files that are known from elsewhere are read all the same")
  func known() throws {
    let (store, ids) = try send(.files)
    try FolderFormat.bundles.send(store, folder)
    let path = "\(folder)/changes/\(ids[1].rawValue)"
    let text = String(decoding: try FileSystem.read(path, atMost: 1 << 20), as: UTF8.self)
    let changed = text.replacingOccurrences(of: "A", with: "B")
    #expect(changed != text)
    try FileSystem.replace(path, with: Array(changed.utf8), permissions: 0o644)
    #expect(try read(.bundles, store).refused.isEmpty)
    let report = try read(.files, store)
    #expect(report.refused.map(\.id) == [ids[1]], "\(report.refused)")
  }

  @Test("changes of which nothing says what they are, and a link in the place of a directory")
  func halves() throws {
    let (_, ids) = try send(.files)
    try FileSystem.unlink("\(folder)/versions/\(ids[2].rawValue)")
    let report = try read(.files, place.store("copy"))
    #expect(report.remoteIDs.count == 2)
    #expect(report.refused.map(\.id) == [ids[2]])
    #expect(report.refused.first?.reason.contains("there is no versions/") == true)
    try FileSystem.rename("\(folder)/changes", to: "\(folder)/elsewhere")
    try FileSystem.symlink("\(folder)/elsewhere", at: "\(folder)/changes")
    let other = try place.store("other")
    for act in [
      { try read(.files, other) }, { try FolderFormat.files.retrieve(into: other, folder) },
    ] {
      do {
        _ = try act()
        Issue.record("a link was followed")
      } catch let error as StoreError {
        guard case .unreachable(let reason) = error else { throw error }
        #expect(reason.contains("changes is not a directory of its own"))
      }
    }
  }

  @Test("a second copy that says something else is named, though the first is sound")
  func copies() throws {
    let (store, ids) = try send(.bundles)
    let record = try #require(try store.version(ids[1]))
    let version = try store.version(from: record)
    let name = try BundleMade(writer: "zz", scratch: place.directory.path) { bundle in
      try bundle.add(entry: BundleMade.entry(version, Array(repeating: 0xEE, count: 100)))
    }.put(into: folder)
    let report = try read(.bundles, store)
    #expect(report.remoteIDs.count == 3)
    #expect(report.refused.map(\.id) == [ids[1]])
    #expect(report.refused.first?.reason.contains(name) == true)
    // What a retrieval takes is as it was.
    let other = try place.store("other")
    let taken = try FolderFormat.bundles.retrieve(into: other, folder)
    #expect(taken.taken.count == 3 && taken.refused.isEmpty)
  }

  @Test("what cannot be read whole there is told, and is there again after a send")
  func missing() throws {
    let (store, ids) = try send(.bundles)
    let names = try FileSystem.list("\(folder)/bundles").sorted()
    try FileSystem.unlink("\(folder)/bundles/\(names[0])")
    // The others descend from a version that is not there.
    #expect(try read(.bundles, store).remoteIDs.isEmpty)
    let other = try read(.bundles, place.store("copy"))
    #expect(other.remoteIDs.isEmpty)
    // Its writer says that it stays, so its absence is told.
    #expect(
      Set(other.waiting.map(\.id)) == Set(ids[1...] + [.init("\(store.replicaID)-0")]),
      "\(other.waiting)")
    _ = try FolderFormat.bundles.send(store, folder)
    #expect(try read(.bundles, store).remoteIDs.sorted() == ids.sorted())
    #expect(try read(.bundles, place.store("copy")).waiting.isEmpty)
  }
}
