import Foundation
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

@Suite("Exchange through bundles", .timeLimit(.minutes(2)))
struct BundleExchangeTests {
  private let place: ExchangePlace
  private var directory: TemporaryDirectory { place.directory }
  private var folder: String { place.folder }

  init() throws { place = try ExchangePlace() }

  private func store(_ name: String) throws -> Store { try place.store(name) }

  private func retrieve(_ store: Store) throws -> ExchangeReport {
    try FolderFormat.bundles.retrieve(into: store, folder)
  }

  @discardableResult
  private func send(_ store: Store) throws -> ExchangeReport {
    try FolderFormat.bundles.send(store, folder)
  }

  private func bundles() throws -> [String] { try FileSystem.list("\(folder)/bundles").sorted() }

  private func noise(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(count))
    return random.bytes(count)
  }

  /// Versions in a line, each with one value.
  @discardableResult
  private func extend(_ store: Store, _ count: Int) throws -> Version.ID {
    var last = try store.mostRecentHead?.id
    for number in 0..<count {
      last =
        try store.makeVersion(
          basedOnPredecessor: last,
          updating: [Value(id: .init("k\(number % 7)"), data: noise(number))]
        ).id
    }
    return try require(last)
  }

  @Test(
    "what the original sent arrives through bundles as it was", arguments: ExchangeFixtures.cases)
  func fixtures(_ name: String) throws {
    let (first, second) = (try store("a"), try store("b"))
    let taken = try FolderFormat.files.retrieve(
      into: first, ExchangeFixtures.folder(name)
    ).taken
    #expect(try send(first).sent.count == taken.count)
    #expect(try retrieve(second).taken.count == taken.count)
    for id in taken {
      let (a, b) = (try require(first.version(id)), try require(second.version(id)))
      #expect(a.map.digest == b.map.digest && a.flags == b.flags)
      #expect(try first.version(from: a) == second.version(from: b))
      #expect(try first.valueReferences(at: id) == second.valueReferences(at: id))
    }
  }

  @Test("many versions are one file, sent once and read once")
  func once() throws {
    let (a, b) = (try store("a"), try store("b"))
    let last = try extend(a, 300)
    #expect(try send(a).sent.count == 300)
    #expect(try bundles().count == 1)
    #expect(try send(a).sent.isEmpty)
    #expect(try retrieve(b).taken.count == 300)
    #expect(try b.version(last)?.map.digest == a.version(last)?.map.digest)
    // A bundle that was read is not opened again, by retrieving or by sending, also not by a new process.
    let reopened = try store("c")
    #expect(try retrieve(reopened).taken.count == 300)
    for store in [a, b, reopened] {
      let token = Faults.arm(
        Faults.Plan(calls: [.open, .read], below: "\(folder)/bundles/", action: .short(1)))
      #expect(try retrieve(store).remoteIDs.isEmpty)
      #expect(try send(store).sent.isEmpty)
      #expect(Faults.disarm(token) == 0)
    }
    try b.makeVersion(basedOnPredecessor: last, updating: [Value(id: .init("new"), data: [1])])
    #expect(try send(b).sent.count == 1)
    #expect(try bundles().count == 2)
    #expect(try retrieve(a).taken.count == 1)
    #expect(try FileSystem.list(folder) == ["bundles"])
  }

  @Test("a file that claims the greatest number of this store's bundles does not end its sends")
  func greatestSequence() throws {
    let (a, b) = (try store("a"), try store("b"))
    try extend(a, 1)
    try send(a)
    let writer = try #require(try bundles().first?.split(separator: "-").first)
    for number in [SequenceRuns.greatest, .max - 1, .max] {
      let greatest = min(number, SequenceRuns.greatest)
      let kept = BundleClaim(
        writer: String(writer), upTo: greatest, kept: SequenceRuns([0, greatest]))
      let made = try BundleMade(
        writer: String(writer), sequence: greatest, scratch: directory.path, stays: [kept]
      ) { _ in }
      try BundleMade.put(made.bytes, into: folder, writer: String(writer), sequence: number)
      for _ in 0..<3 {
        let id = try extend(a, 1)
        // What a malformed bundle says of its writer's other bundles is unknown, so their versions are sent again.
        #expect(try send(a).sent.contains(id))
      }
    }
    #expect(try retrieve(b).taken.count == 10)
  }

  @Test("values of any length arrive, also those longer than a frame")
  func lengths() throws {
    let (a, b) = (try store("a"), try store("b"))
    let values = [0, 1, 65_536, 1_048_575, 1_048_576, 1_048_577, 5_000_000].map {
      Value(id: .init("v\($0)"), data: noise($0))
    }
    let zeros = Value(id: .init("zeros"), data: [UInt8](repeating: 0, count: 9_000_000))
    let version = try a.makeVersion(basedOnPredecessor: nil, inserting: values + [zeros])
    try a.makeVersion(basedOnPredecessor: version.id, removing: [.init("v1")])
    #expect(try send(a).sent.count == 2)
    #expect(try retrieve(b).taken.count == 2)
    for value in values + [zeros] {
      #expect(try b.value(id: value.id, at: version.id)?.data == value.data)
    }
  }

  @Test("a send of much is several bundles")
  func several() throws {
    let (a, b) = (try store("a"), try store("b"))
    var last: Version.ID?
    for number in 0..<6 {
      last =
        try a.makeVersion(
          basedOnPredecessor: last,
          updating: [Value(id: .init("k"), data: noise(12_000_000 + number))]
        ).id
    }
    #expect(try send(a).sent.count == 6)
    #expect(try bundles().count == 2)
    #expect(try retrieve(b).taken.count == 6)
    #expect(try b.value(id: .init("k"), at: try require(last))?.data == noise(12_000_005))
  }

  @Test("a torn bundle is absent, and its versions are sent anew by whoever has them")
  func torn() throws {
    let (a, b, c) = (try store("a"), try store("b"), try store("c"))
    let last = try extend(a, 20)
    _ = try send(a)
    _ = try retrieve(b)
    let path = "\(folder)/bundles/\(try bundles()[0])"
    let bytes = try FileSystem.read(path, atMost: 1 << 24)
    try File(path, .readWrite).truncate(to: UInt64(bytes.count / 2))
    let report = try retrieve(c)
    #expect(report.taken.isEmpty && report.refused.isEmpty)
    #expect(report.waiting.map(\.reason) == ["bundles/\(try bundles()[0]): it is not whole"])
    // Another writer leaves the file alone and writes one of its own.
    #expect(try send(b).sent.count == 20)
    #expect(try bundles().count == 2)
    #expect(try retrieve(c).taken.count == 20)
    // As long as its name says, with other bytes: a bundle that is short enough is read whole.
    try FileSystem.unlink(path)
    let whole = try File("\(folder)/bundles/\(try bundles().first.unwrapped)", .readWrite)
    try whole.write([UInt8](repeating: 0, count: 8), at: 300)
    let e = try store("e")
    let other = try retrieve(e)
    #expect(other.taken.isEmpty && other.refused.count == 1)
    #expect(try b.version(last) != nil)
  }

  @Test("of two copies of a version the one that is right is taken")
  func copies() throws {
    let (a, b) = (try store("a"), try store("b"))
    let id = try extend(a, 1)
    try extend(a, 3)
    // A copy whose content is not what its digest says, in a bundle that is listed first.
    let version = try a.version(from: require(a.version(id)))
    try put([(version, [.insert(Key("k0"), .inline([9, 9, 9]))])], "0")
    let alone = try retrieve(b)
    #expect(alone.taken.isEmpty && alone.refused.count == 1)
    let reason = try require(alone.refused.first?.reason)
    #expect(reason.hasPrefix("bundles/0-0000000003-") && reason.contains("digest"), "\(reason)")
    let records = try a.versionsNewestFirst(before: nil, limit: 10).reversed()
    try put(records.map { (try a.version(from: $0), try changes(of: $0, in: a)) }, "1")
    let report = try retrieve(b)
    #expect(report.taken.count == 4 && report.refused.isEmpty, "\(report.refused)")
  }

  /// Puts a bundle with these versions into the folder.
  private func put(_ versions: [(Version, [OutlineChange])], _ writer: String) throws {
    try BundleMade(writer: writer, scratch: directory.path) { bundle in
      for (version, changes) in versions {
        try bundle.add(
          version, contentDigest: nil,
          changes: try BundleMade.changes(changes, scratch: directory.path))
      }
    }.put(into: folder)
  }

  private func changes(of record: VersionRecord, in store: Store) throws -> [OutlineChange] {
    try store.valueChanges(madeInVersionIdentifiedBy: record.id).compactMap { change in
      switch change {
      case .insert(let value): .insert(Key(value.id.rawValue), .inline(value.data))
      case .update(let value): .update(Key(value.id.rawValue), .inline(value.data))
      default: nil
      }
    }
  }

  @Test("stopping stops, and what was committed stays")
  func cancel() throws {
    let (a, b) = (try store("a"), try store("b"))
    try extend(a, 40)
    for limit in [0, 3, 20, 60] {
      var calls = 0
      let control = ExchangeControl(isCancelled: {
        calls += 1
        return calls > limit
      })
      #expect(throws: StoreError.self) {
        try FolderFormat.bundles.send(a, folder, control)
      }
      #expect(try !FileSystem.exists("\(folder)/bundles") || bundles().isEmpty)
    }
    #expect(try send(a).sent.count == 40)
    for limit in [0, 3, 20, 60] {
      var calls = 0
      let control = ExchangeControl(isCancelled: {
        calls += 1
        return calls > limit
      })
      #expect(throws: StoreError.self) {
        try FolderFormat.bundles.retrieve(into: b, folder, control)
      }
    }
    #expect(try retrieve(b).taken.count == 40)
  }
}
