import Inodes
import LLVSCore
import Platform
import SQLite
import Synchronization
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Readers that keep their transactions", .timeLimit(.minutes(3)))
struct RowReadersTests {
  @Test("who has read sees what is published later, and nothing of what is prepared")
  func publication() throws {
    let history = try RecordedTreeHistory(seed: 1)
    try history.open()
    for step in 0..<5 {
      let name = FileName("file\(step)".utf8)
      try history.advance(
        beforeShown: { tree in
          let early = try tree.child(of: .root, named: name)
          #expect(early == nil)
        },
        { $0.store("file\(step)", step, in: &$1) })
      let tree = try #require(history.tree)
      #expect(try tree.child(of: .root, named: name) != nil, "step \(step)")
      try history.check("step \(step)")
    }
  }

  @Test("the write-ahead log is begun anew although readers keep their transactions")
  func log() throws {
    let history = try RecordedTreeHistory(seed: 2)
    try history.open()
    var sizes: [UInt64] = []
    for step in 0..<40 {
      try history.advance { $0.store("file\(step % 3)", step, in: &$1) }
      let tree = try #require(history.tree)
      #expect(try tree.child(of: .root, named: FileName("file\(step % 3)".utf8)) != nil)
      tree.writer.withLock { $0.loan }.rows.database.checkpoint()
      #expect(try tree.inode(.root) != nil)
      sizes.append(try history.logSize)
    }
    // A log that nobody begins anew grows with every head.
    #expect(sizes.last == sizes[sizes.count / 2])
  }

  @Test("the log can be emptied after something was read")
  func emptying() throws {
    let history = try RecordedTreeHistory(seed: 3)
    try history.open()
    try history.advance { $0.store("file", 1, in: &$1) }
    let tree = try #require(history.tree)
    #expect(try tree.inode(.root) != nil)
    #expect(try history.logSize != 0)
    tree.emptyLog()
    #expect(try history.logSize == 0)
    try history.check("after the log was emptied")
  }
}

extension TreeMaps {
  /// Puts a file whose bytes say a number.
  fileprivate func store(_ name: String, _ content: Int, in entries: inout Entries) {
    let bytes = Array("\(content)".utf8)
    let key = Key(name)
    entries[MapPlace(key: key, isDirectory: false)] = Entry(
      key: key, kind: .regular, attributes: Attributes(),
      stored: StoredContent(
        length: UInt64(bytes.count), digest: Digest.of(bytes), content: .inline(bytes)),
      storedVersion: VersionNumber(1), revision: UInt64(content + 1))
  }
}

extension RecordedTreeHistory {
  /// The bytes of the write-ahead log.
  fileprivate var logSize: UInt64 {
    get throws { try FileSystem.status(path + "-wal").size }
  }
}
