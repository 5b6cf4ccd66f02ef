import Foundation
import LLVS
import TestSupport
import Testing

/// Several processes that write one store.
@Suite("Several processes", .timeLimit(.minutes(3)))
struct SeveralProcessesTests {
  private let directory: TemporaryDirectory
  private let url: URL

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    url = URL(fileURLWithPath: directory.file("store"))
  }

  /// A process that makes versions and writes their ids into a file.
  private struct Writer {
    let process = Process()
    let output: URL

    init(_ count: Int, named name: String, in store: URL, output: URL) throws {
      self.output = output
      process.executableURL = URL(fileURLWithPath: MountedStore.program("librarywriter"))
      process.arguments = [store.path, "\(count)", name]
      try Data().write(to: output)
      process.standardOutput = try FileHandle(forWritingTo: output)
      try process.run()
    }

    /// The ids of the versions whose making has returned.
    func ids() throws -> [Version.ID] {
      let text = try String(contentsOf: output, encoding: .utf8)
      return text.split(separator: "\n").filter { $0.utf8.count == 36 }
        .map { Version.ID(String($0)) }
    }
  }

  private func writer(_ count: Int, _ name: String) throws -> Writer {
    try Writer(
      count, named: name, in: url, output: URL(fileURLWithPath: directory.file(name)))
  }

  @Test("two that write ten thousand versions each, at once, lose none")
  func twoWriters() throws {
    let count = 10_000
    _ = try Store(rootDirectoryURL: url)
    let writers = [try writer(count, "a"), try writer(count, "b")]
    for one in writers { one.process.waitUntilExit() }
    #expect(writers.allSatisfy { $0.process.terminationStatus == 0 })
    let store = try Store(rootDirectoryURL: url)
    let all = Set(store.queryHistory { $0.allVersionIdentifiers })
    #expect(all.count == 2 * count)
    for one in writers {
      let ids = try one.ids()
      #expect(ids.count == count && all.isSuperset(of: ids))
    }
    // The two lines end where their writers ended, with all their values.
    let heads = store.queryHistory { $0.headIdentifiers }
    #expect(heads == Set(try writers.compactMap { try $0.ids().last }))
    for head in heads {
      #expect(try store.valueReferences(at: head).count == 100)
    }
  }

  @Test("a writer that is killed in its turn loses nothing that it had made, and others go on")
  func killed() throws {
    let store = try Store(rootDirectoryURL: url)
    var made: [Version.ID] = []
    for round in 0..<5 {
      let victim = try writer(1_000_000, "victim\(round)")
      while try victim.ids().count < 20 { Thread.sleep(forTimeInterval: 0.01) }
      // This process writes meanwhile, too.
      made.append(try store.makeVersion(basedOnPredecessor: made.last, storing: []).id)
      kill(victim.process.processIdentifier, SIGKILL)
      victim.process.waitUntilExit()
      made.append(try store.makeVersion(basedOnPredecessor: made.last, storing: []).id)
      try store.reloadHistory()
      let all = Set(store.queryHistory { $0.allVersionIdentifiers })
      #expect(all.isSuperset(of: try victim.ids()) && all.isSuperset(of: made))
    }
  }

  @Test("several that make the store at once make one")
  func making() throws {
    let writers = try (0..<4).map { try writer(25, "w\($0)") }
    for one in writers { one.process.waitUntilExit() }
    #expect(writers.allSatisfy { $0.process.terminationStatus == 0 })
    let all = Set(try Store(rootDirectoryURL: url).queryHistory { $0.allVersionIdentifiers })
    #expect(all.count == 100)
    for one in writers { #expect(all.isSuperset(of: try one.ids())) }
  }

  @Test("one that reads sees what another writes")
  func reader() throws {
    let store = try Store(rootDirectoryURL: url)
    let other = try writer(50, "a")
    other.process.waitUntilExit()
    try store.reloadHistory()
    let head = try #require(store.mostRecentHead)
    #expect(try other.ids().last == head.id)
    #expect(try store.value(idString: "a/49", at: head.id)?.data == Data("49".utf8))
    #expect(try store.versionIds(for: Value.ID("a/0")).count == 1)
  }
}
