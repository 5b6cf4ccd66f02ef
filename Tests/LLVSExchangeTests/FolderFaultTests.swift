import LLVSCore
import Platform
import TestSupport
import Testing

@testable import LLVSExchange
@testable import StoreSupport

/// Sends that fail or end in the middle, in each of the two formats.
@Suite("Faults of exchanges through a folder", .timeLimit(.minutes(2)))
struct FolderFaultTests {
  static func fill(_ store: Store) throws -> [Version.ID] {
    var ids: [Version.ID] = []
    for number in 0..<3 {
      var random = SeededRandom(seed: UInt64(number))
      let values = [
        Value(id: .init("k\(number)"), data: random.bytes(100)),
        Value(id: .init("big"), data: random.bytes(400_000)),
      ]
      ids.append(try store.makeVersion(basedOnPredecessor: ids.last, updating: values).id)
    }
    return ids
  }

  /// What another store takes from the folder: whole versions only, nothing refused.
  static func take(_ format: FolderFormat, _ folder: String, _ path: String) throws -> [Version.ID]
  {
    let store = try Store.open(path: path, create: true)
    let report = try format.retrieve(into: store, folder)
    #expect(report.refused.isEmpty, "\(report.refused)")
    #expect(try store.verify().damage.isEmpty)
    return report.taken
  }

  @Test(
    "whichever call fails, a send throws, what is there is whole, and the next send completes it",
    arguments: FolderFormat.allCases)
  func failing(_ format: FolderFormat) throws {
    var failures = 0
    for nth in 1... {
      let directory = try TemporaryDirectory()
      let folder = directory.file("x")
      try FileSystem.makeDirectory(folder)
      let store = try Store.open(path: directory.file("s"), create: true)
      let ids = try Self.fill(store)
      let plan = Faults.Plan(
        below: folder, nth: nth, times: 1,
        action: .fail(nth % 2 == 0 ? Errno.noSpace : Errno.inputOutput))
      let token = Faults.arm(plan)
      var hasFailed = false
      do {
        _ = try format.send(store, folder)
      } catch {
        hasFailed = true
      }
      let seen = Faults.disarm(token)
      guard seen >= nth else {
        #expect(!hasFailed)
        break
      }
      failures += hasFailed ? 1 : 0
      _ = try Self.take(format, folder, directory.file("early"))
      _ = try format.send(store, folder)
      #expect(try Self.take(format, folder, directory.file("late")) == ids)
      #expect(try FileSystem.list(folder).allSatisfy { !$0.hasPrefix(".") })
    }
    #expect(failures >= 10)
  }

  @Test(
    "whichever call the process dies at, what is there is whole, and the next send completes it",
    arguments: FolderFormat.allCases, [1, 3, 5, 7, 9, 12, 15, 18, 22, 27])
  func dying(_ format: FolderFormat, _ nth: Int) async throws {
    let directory = try TemporaryDirectory()
    let (path, folder) = (directory.path, directory.file("x"))
    try FileSystem.makeDirectory(folder)
    let ids: [Version.ID]
    do { ids = try Self.fill(try Store.open(path: "\(path)/s", create: true)) }
    let isBundles = format == .bundles
    await #expect(processExitsWith: .exitCode(137)) {
      [path = path as String, nth = nth as Int, isBundles = isBundles as Bool] in
      let store = try Store.open(path: "\(path)/s")
      _ = Faults.arm(
        Faults.Plan(below: "\(path)/x", nth: nth, action: nth % 2 == 0 ? .dieAfter(1000) : .die))
      _ = try (isBundles ? FolderFormat.bundles : .files).send(store, "\(path)/x")
      SystemProcess.exitAtOnce(137)
    }
    _ = try Self.take(format, folder, directory.file("early"))
    let store = try Store.open(path: "\(path)/s")
    _ = try format.send(store, folder)
    #expect(try Self.take(format, folder, directory.file("late")) == ids)
    #expect(try FileSystem.list(folder).allSatisfy { !$0.hasPrefix(".") })
  }
}
