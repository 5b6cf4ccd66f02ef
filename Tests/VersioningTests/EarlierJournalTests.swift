import Foundation
import Inodes
import LLVSCore
import Platform
import PosixTree
import RecordedTree
import TestSupport
import Testing
import TreeNames

@testable import PendingTree
@testable import Versioning

/// Stores with the journal of an earlier program. `store-with-journal-5.tar.gz` was unmounted with ignored files,
/// files that were never saved, and files that had left the versions under an ignored name.
@Suite(.timeLimit(.minutes(2)))
struct EarlierJournalTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    let archive = Bundle.module.bundlePath + "/Resources/store-with-journal-5.tar.gz"
    let run = try shell(
      "tar -xzf '\(archive)' -C '\(directory.path)' && cd '\(directory.path)' && mv old.store store "
        + "&& mv store/journal journal")
    #expect(run.status == 0, "\(run.output)")
  }

  private var journalFile: String { directory.file("journal/0000000006.journal") }

  /// The tree as its mount showed it at the end.
  private static let texts: [String: String?] = [
    "a.txt": "alpha\nchanged\n", "build": nil, "build/deep": nil, "build/deep/same.o": "object\n",
    "build/ln": "out.o", "build/out.o": "object\n", "d": nil, "d/b.txt": "beta\n",
    "d/big.tmp": String(repeating: "0123456789abcdef\n", count: 2353).prefix(40_000).description,
    "d/big2.txt": String(repeating: "0123456789", count: 4000), "d/c.tmp": "gamma\n",
    "d/link": "../a.txt", "e": nil, "e/l1": "linked\n", "e/long.tmp": "long\n", "f": nil,
    "f/anew": "anew\n", "moved": nil, "moved/l2": "linked\n", "moved/new": "inmoved\n",
    "new.txt": "never saved\n", "s.tmp": "scratch\n", "sp": String(repeating: "\0", count: 5000),
  ]

  /// The format of the store's catalog.
  private func format() throws -> String {
    try shell("sqlite3 '\(directory.file("store/store.sqlite"))' 'PRAGMA user_version'").output
  }

  private func status(_ work: TreeAtWork, _ path: String) throws -> InodeStatus {
    try work.tree.status(of: try work.number(path))
  }

  @Test(arguments: [1, 2])
  func `a store whose journal an earlier program wrote shows the same tree`(mounts: Int) throws {
    #expect(try format() == "2\n")
    for _ in 0..<mounts {
      let work = try TreeAtWork(directory.path)
      #expect(work.opened.losses == [])
      try work.check()
      #expect(try work.texts() == Self.texts)
      #expect(try status(work, "s.tmp").mode & 0o777 == 0o600)
      #expect(try status(work, "d/b.txt").mode & 0o777 == 0o600)
      #expect(try work.number("build/out.o") == work.number("build/deep/same.o"))
      #expect(try work.number("e/l1") == work.number("moved/l2"))
      let note = try work.tree.getxattr(work.number("e/long.tmp"), Array("user.note".utf8))
      #expect(note == [UInt8](repeating: UInt8(ascii: "x"), count: 600))
      // Earlier programs refuse the store from now on.
      #expect(try format() == "3\n")
    }
  }

  @Test func `the next version takes what is saved and leaves out ignored names`() throws {
    let work = try TreeAtWork(directory.path)
    try work.save("a.txt", "after")
    work.tree.setIgnore(IgnorePatterns(Array("*.tmp\nbuild/\n".utf8)))
    try work.cut()
    try work.check()
    var expected = Self.texts.filter { name, _ in
      !name.hasSuffix(".tmp") && !name.hasPrefix("build") && name != "new.txt"
        && name != "d/big2.txt"
    }
    expected["a.txt"] = "after"
    #expect(try work.recordedTexts() == expected)
    var shown = Self.texts
    shown["a.txt"] = "after"
    #expect(try work.texts() == shown)
  }

  @Test func `a journal with changes behind its checkpoint is refused and stays as it is`() throws {
    let before = try Data(contentsOf: URL(fileURLWithPath: journalFile))
    // Kind 9 removes a name.
    var record: [UInt8] = [9]
    record.append(bigEndian: UInt64(1))
    record.append(bigEndian: UInt32(1))
    record += Array("f".utf8) + [UInt8](repeating: 0, count: 20)
    var lengths: [UInt8] = []
    lengths.append(bigEndian: UInt32(record.count))
    lengths.append(bigEndian: UInt32(0))
    var frame = lengths
    frame.append(bigEndian: Checksum.of(lengths + record))
    let changed = before + Data(frame + record)
    try changed.write(to: URL(fileURLWithPath: journalFile))
    let error = #expect(throws: StoreError.self) { try TreeAtWork(directory.path) }
    guard case .invalid(let message) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(message.contains("mount and unmount the store once with that version"))
    #expect(try format() == "2\n")
    #expect(try Data(contentsOf: URL(fileURLWithPath: journalFile)) == changed)
    // As the earlier program leaves it.
    try before.write(to: URL(fileURLWithPath: journalFile))
    #expect(try TreeAtWork(directory.path).texts() == Self.texts)
  }

  @Test func `a damaged journal of an earlier program is refused with the place`() throws {
    let whole = try Data(contentsOf: URL(fileURLWithPath: journalFile))
    for offset in stride(from: 160, to: whole.count, by: 331) {
      var bytes = whole
      bytes[offset] ^= 0x10
      try bytes.write(to: URL(fileURLWithPath: journalFile))
      let error = #expect(throws: StoreError.self) { try TreeAtWork(directory.path) }
      guard case .corrupt(let message) = error else {
        Issue.record("byte \(offset): \(String(describing: error))")
        continue
      }
      #expect(message.contains("is damaged at byte"))
    }
  }

  @Test func `a journal over another version than the head is refused`() throws {
    do {
      let store = try Store.open(path: directory.file("store"), create: false)
      let head = try #require(try store.state().head.flatMap { try store.version($0) })
      let version = try store.makeVersion(
        basedOnPredecessor: head.id,
        storing: [.insert(Value(id: Value.ID(bytes: Array("x".utf8)), data: [1]))])
      let number = try #require(try store.version(version.id)).number
      try store.write { transaction throws(StoreError) in
        let record = try transaction.version(number)
        try transaction.setHead(number, map: record?.map, reason: .switched(to: "there"))
      }
    }
    let error = #expect(throws: StoreError.self) { try TreeAtWork(directory.path) }
    guard case .invalid(let message) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(message.contains("does not fit the version"))
  }

  // MARK: - Checkpoints of which none is at hand

  private typealias Checkpoint = EarlierCheckpoint

  private func node(
    _ number: UInt64, _ kind: EntryKind, path: String? = nil, text: String? = nil
  ) -> Checkpoint.Node {
    var node = Checkpoint.Node(
      number: InodeNumber(number), kind: kind, attributes: Attributes(mode: 0o644),
      changed: Attributes.Time(seconds: 1, nanoseconds: 0), hasNewAttributes: false,
      hasSetTime: false, path: path.map { TreePath(Array($0.utf8)) }, isUnsaved: false,
      isNeverSaved: false, isSteady: true)
    if let text {
      let content = FileContent(
        stored: StoredContent(
          length: UInt64(text.utf8.count), digest: Digest(words: (1, 2, 3, 4)),
          content: .inline(Array(text.utf8))))
      node.content = content
      node.saved = PendingFile.Save(
        content: content, time: Attributes.Time(seconds: 2, nanoseconds: 0), seen: Epoch(3))
    }
    return node
  }

  private func name(_ directory: UInt64, _ name: String, _ inode: UInt64?) -> Checkpoint.Name {
    Checkpoint.Name(
      place: InodeName(directory: InodeNumber(directory), name: FileName(Array(name.utf8))),
      inode: inode.map { InodeNumber($0) }, made: Epoch(4))
  }

  private func overlay(_ checkpoint: Checkpoint, _ work: TreeAtWork) throws -> Overlay? {
    let recorded = work.recorded
    var conversion = EarlierConversion(checkpoint, over: recorded) { () throws(BaseError) in
      InodeNumber(1 << 30)
    } extended: { _ in
      []
    }
    return try conversion.run()
  }

  @Test func `a moved directory takes along what the version has in it`() throws {
    let work = try TreeAtWork(directory.path)
    var checkpoint = Checkpoint()
    checkpoint.nodes = [node(7000, .directory, path: "d")]
    checkpoint.names = [name(1, "d", nil), name(1, "elsewhere", 7000)]
    let overlay = try #require(try overlay(checkpoint, work))
    let number = try work.recorded.child(of: .root, named: FileName(Array("d".utf8)))?.inode.number
    let change = overlay.changes[
      InodeName(directory: .root, name: FileName(Array("elsewhere".utf8)))]
    #expect(change?.inode == number)
    #expect(change?.isDirectory == true)
    #expect(overlay.nodes[try #require(number)]?.recordedNames.count == 1)
  }

  @Test func `a file that lost its name keeps its save with the epoch of its writer`() throws {
    let work = try TreeAtWork(directory.path)
    var checkpoint = Checkpoint()
    checkpoint.epochs = [
      Checkpoint.Beginning(first: Epoch(1), version: 1),
      Checkpoint.Beginning(first: Epoch(4), version: 3),
    ]
    checkpoint.nodes = [node(7000, .regular, text: "kept"), node(7001, .regular)]
    checkpoint.detached = [
      Checkpoint.Detached(
        inode: InodeNumber(7000), directory: .root, name: Array("a.txt".utf8), epoch: Epoch(2)),
      Checkpoint.Detached(
        inode: InodeNumber(7001), directory: nil, name: Array("d/b.txt".utf8), epoch: Epoch(2)),
    ]
    let overlay = try #require(try overlay(checkpoint, work))
    #expect(overlay.nodes[InodeNumber(7001)] == nil)
    let kept = try #require(overlay.nodes[InodeNumber(7000)])
    #expect(
      kept.orphan
        == .detached(
          place: InodeName(directory: .root, name: FileName(Array("a.txt".utf8))), path: nil,
          epoch: Epoch(2)))
    #expect(kept.file?.saved?.seen == Epoch(3))
    #expect(checkpoint.versions == [Epoch(2): 1, Epoch(3): 1, Epoch(4): 3])
  }

  @Test func `a checkpoint that contradicts the recorded tree makes nothing`() throws {
    let work = try TreeAtWork(directory.path)
    var absent = Checkpoint()
    absent.nodes = [node(7000, .directory, path: "nowhere")]
    #expect(try overlay(absent, work) == nil)
    var nothing = Checkpoint()
    nothing.names = [name(1, "x", 7000)]
    #expect(try overlay(nothing, work) == nil)
    var unknown = Checkpoint()
    unknown.names = [name(9000, "x", nil)]
    #expect(try overlay(unknown, work) == nil)
    // Two directories that hold each other.
    var loop = Checkpoint()
    loop.nodes = [node(7000, .directory), node(7001, .directory)]
    loop.names = [name(7000, "x", 7001), name(7001, "y", 7000)]
    #expect(try overlay(loop, work) == nil)
  }
}
