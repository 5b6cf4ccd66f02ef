import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Programs of two processes on a tree, and another machine, for the rules about programs that are behind.
final class BehindWork {
  /// A text of four lines, of which machines and programs change one each.
  static let base = text()

  /// The base text with other lines.
  static func text(_ changes: [Int: String] = [:]) -> String {
    let lines = ["one", "two", "three", "four"].enumerated().map {
      changes[$0.offset + 1] ?? $0.element
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The two processes: this one, and one that began before it.
  static let (p, q): (Int32, Int32) = (SystemProcess.id, 1)

  let work: TreeAtWork
  let path: String
  private let directory: TemporaryDirectory?

  /// Opens the tree that a kill left.
  init(opening path: String) throws {
    (self.path, directory) = (path, nil)
    work = try TreeAtWork(path, longCut: 0, isHeld: true)
  }

  init() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    (self.directory, path) = (directory, directory.path)
    work = try TreeAtWork(path, longCut: 0, isHeld: true)
    for name in ["f", "g", "h"] { try work.save(name, Self.base) }
    try work.save("other", "other")
    try work.cut()
  }

  var store: Store { work.store }
  var head: VersionNumber { get throws { try #require(try store.state().head) } }

  // MARK: - Programs

  /// A program reads a file.
  func read(_ path: String, by process: Int32 = p) throws {
    try work.tree.release(
      try work.tree.open(try work.number(path), mode: .read, process: process).handle)
  }

  /// The ways in which a program saves a file that it holds in memory.
  enum Way: CaseIterable { case emptying, cutting, inPlace, renaming, puttingAside }

  func save(_ path: String, _ text: String, _ way: Way = .emptying, by process: Int32 = p) throws {
    let tree = work.tree
    switch way {
    case .emptying:
      try fill(
        try tree.open(try work.number(path), mode: [.write, .truncate], process: process).handle,
        text)
    case .cutting:
      let number = try work.number(path)
      let handle = try tree.open(number, mode: [.read, .write], process: process).handle
      try tree.resize(number, to: 0, through: handle)
      try fill(handle, text)
    case .inPlace:
      let number = try work.number(path)
      let handle = try tree.open(number, mode: .write, process: process).handle
      try work.write(String(text.prefix(5)), through: handle)
      try work.write(String(text.dropFirst(5)), through: handle, at: 5)
      try tree.resize(number, to: UInt64(text.utf8.count), through: handle)
      try work.close(handle)
    case .renaming:
      try create("\(path).new", text, by: process)
      try tree.rename(
        try work.place("\(path).new"), to: try work.place(path), mode: .replacing, process: process)
    case .puttingAside:
      try tree.rename(
        try work.place(path), to: try work.place("\(path)~"), mode: .replacing, process: process)
      try create(path, text, by: process)
      try work.unlink("\(path)~")
    }
  }

  func create(_ path: String, _ text: String, by process: Int32 = p) throws {
    let place = try work.place(path)
    let (status, handle) = try work.tree.create(
      place.directory, place.name, mode: 0o644, open: .write,
      caller: Caller(uid: 1000, gid: 1000, process: process, umask: 0o022))
    work.tree.forget(status.number, count: 1)
    try fill(handle, text)
  }

  private func fill(_ handle: HandleNumber, _ text: String) throws {
    try work.write(text, through: handle)
    try work.close(handle)
  }

  // MARK: - Heads

  private func merge(
    _ other: VersionNumber?, _ transaction: WriteTransaction, _ head: VersionNumber?
  ) throws(StoreError) -> VersionNumber? {
    guard let other, let head else { return head }
    return try transaction.mergeSides([head, other], live: head) {
      ContentArbiter(.automatic, $0, transaction.store.contents)
    }.outcome
  }

  /// Cuts, and merges what another machine changed since a version, or since the head.
  func transition(
    _ values: [String: String?]? = nil, since base: VersionNumber? = nil,
    window: @escaping () throws -> Void = {}, late: () throws -> Void = {}
  ) throws {
    let other = try values.map { try work.others($0, on: base) }
    try transition(to: other, window: window, late: late)
  }

  /// Cuts, and merges a version. `window` runs after the cut's instant, `late` between the commit and the showing of a
  /// cut alone.
  func transition(
    to other: VersionNumber?, window: @escaping () throws -> Void = {}, late: () throws -> Void = {}
  ) throws {
    var failure: (any Error)?
    var request = CutRequest(.command, headReason: .merge)
    let store = store
    request.maker.arbiter = { ContentArbiter(.automatic, $0, store.contents) }
    try work.versioner.transition(request) { transaction, head throws(StoreError) in
      do { try window() } catch { failure = error }
      return try self.merge(other, transaction, head)
    }
    if let failure { throw failure }
    try late()
    work.writeRows()
    try check()
  }

  /// A merge of a file that no program looks at.
  func mergeOther(_ text: String = "others") throws { try transition(["other": text]) }

  /// A new head with the bytes of an older version, as undo and restore make it.
  func restore(_ path: String, _ text: String) throws {
    try work.go(to: try work.others([path: text]))
    try check()
  }

  // MARK: - Checks

  /// The versions since one, oldest first.
  func versions(since first: VersionNumber) throws -> [VersionRecord] {
    guard first.rawValue < store.lastNumber else { return [] }
    return try (first.rawValue + 1...store.lastNumber).compactMap {
      try store.version(VersionNumber($0))
    }
  }

  /// The text of a file in a version.
  func text(_ path: String, in version: VersionRecord) throws -> String? {
    let entry = try store.map(of: version).entry(at: KeyCoding.key(ofPath: Array(path.utf8)))
    return entry.map { String(decoding: store.readable($0.stored), as: UTF8.self) }
  }

  /// The version that a text was saved on: the predecessor of the first version that has it.
  func predecessor(
    of text: String, at path: String = "f", since first: VersionNumber
  ) throws -> VersionNumber? {
    let version = try versions(since: first).first { try self.text(path, in: $0) == text }
    return try #require(version, "no version has \(text)").first
  }

  /// Checks the tree, that nothing is pending, and that no version is beside another since one.
  func expectOneLine(since first: VersionNumber, _ location: SourceLocation = #_sourceLocation)
    throws
  {
    var last = first
    for version in try versions(since: first) {
      #expect(version.first == last && version.second == nil, sourceLocation: location)
      last = version.number
    }
    try expectNoConflict(location)
  }

  func expectNoConflict(_ location: SourceLocation = #_sourceLocation) throws {
    #expect(try store.openConflicts(at: head).isEmpty, sourceLocation: location)
  }

  /// Cuts until nothing is pending; returns the tree, which is the head's.
  @discardableResult
  func settled() throws -> [String: String] {
    for _ in 0..<3 { try transition() }
    #expect(work.tree.pending.changes.isEmpty)
    let texts = try work.texts()
    #expect(texts == (try work.recordedTexts()))
    return texts.compactMapValues { $0 }
  }

  /// Checks the invariants of the tree and of what is behind: each version that a change is on is known, and the table
  /// has those that something refers to.
  func check() throws {
    try work.check()
    let epochs = work.tree.epochs
    for epoch in work.tree.pending.epochsInUse { #expect(epochs[epoch] != nil) }
  }
}
