import TestSupport
import Testing

@testable import Control
@testable import TreeSupport

@Suite("The reply of a merge", .timeLimit(.minutes(2)))
struct MergeReplyTests {
  /// The ids of the heads, which are random, decide which side a merge starts from: of twelve merges
  /// some start from each.
  @Test("a merge counts the values that it changed in the tree, whichever side it starts from")
  func values() throws {
    let (a, b, _) = try ControlExchangeTests().pair()
    try a.write("first", "0")
    for round in 0..<12 {
      try a.run("sync")
      try b.run("sync")
      try b.write("two\(round)", "2")
      try b.write("more\(round)", "2")
      try b.run("commit")
      try b.run("send")
      try a.write("one\(round)", "1")
      try a.run("commit")
      try a.run("retrieve")
      let preview = try a.run("merge --dry-run").text
      #expect(preview.contains("would merge 2 heads, 2 changes\n"), "\(preview)")
      let reply = try a.run("merge").text
      #expect(reply.hasSuffix(" merged 2 heads, 2 changes"), "\(reply)")
      try a.run("send")
    }
  }
}
