import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Listings that go on while a cut makes versions of what they show.
@Suite("Listings over a cut", .timeLimit(.minutes(3)))
struct ListedCutTests {
  /// Two names of which the hash is one.
  private func twins(_ hash: CookieHash) -> [String] {
    var seen: [EntryCookie: String] = [:]
    var number = 0
    while true {
      let text = "name\(number)"
      let first = hash.first(of: FileName(Array(text.utf8)))
      if let twin = seen.updateValue(text, forKey: first) { return [twin, text] }
      number += 1
    }
  }

  @Test("names keep their places, also two of one hash")
  func cut() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path)
    try work.save("a", "recorded")
    _ = try work.cut()
    let twins = twins(CookieHash(key: work.recorded.state.hashKey)).sorted()
    // A version has them in the order of their names; they are listed in the other.
    for name in twins.reversed() {
      try work.save(name, "pending")
      _ = try work.tree.list(try work.tree.openDirectory(.root), after: .start)
    }
    let listing = try work.tree.openDirectory(.root)
    let before = try work.tree.list(listing, after: .start)
    #expect(before.count == 3)
    #expect(Set(before.map(\.cookie)).count == 3)
    _ = try work.cut()
    #expect(work.tree.pending.changes.isEmpty)
    #expect(try work.tree.list(listing, after: .start) == before)
    for (index, name) in before.enumerated() {
      #expect(try work.tree.list(listing, after: name.cookie) == Array(before[(index + 1)...]))
    }
    try work.check()
  }
}
