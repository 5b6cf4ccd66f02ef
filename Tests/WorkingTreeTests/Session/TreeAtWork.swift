import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// A store with a working tree over it, as a mount has them, without a kernel.
final class TreeAtWork: Sendable {
  static let defaults = AttributeDefaults(uid: 1000, gid: 1000)
  static let caller = Caller(uid: 1000, gid: 1000, umask: 0o022)

  let store: Store
  let opened: OpenedWorkingTree
  let versioner: Versioner
  /// The reports of what went wrong without failing a call.
  let reports = Monitor<[String]>([])
  /// The changes that the kernel was told of.
  let told = Monitor<[HeadChanges]>([])
  private let held = HeldRows()

  var tree: WorkingTree { opened.tree }
  var recorded: RecordedTree { opened.recorded }

  /// Opens the tree in a directory, and makes what is not there.
  ///
  /// With `isHeld` the rows of a cut are written by ``writeRows()``, and not on a thread.
  init(
    _ directory: String, boot: String = "boot", longCut: Int = Versioner.longCut,
    isHeld: Bool = false, ignore: IgnorePatterns = IgnorePatterns([])
  ) throws {
    let store = try Store.open(path: "\(directory)/store", create: true)
    self.store = store
    let (reports, told, held) = (reports, told, held)
    let report: @Sendable (String) -> Void = { text in reports.withLock { $0.append(text) } }
    opened = try OpenedWorkingTree.open(
      TreePlace(
        rows: "\(directory)/tree.sqlite", journal: "\(directory)/journal",
        bootID: Array(boot.utf8), defaults: Self.defaults,
        ignore: ignore,
        time: { _ in Attributes.Time(seconds: 1_700_000_000, nanoseconds: 0) }),
      of: store, report: report)
    let hold: Versioner.Threads = { held.put($0) }
    let threads = isHeld ? hold : Versioner.detach
    versioner = try Versioner(
      store: store, recorded: opened.recorded, tree: opened.tree, journal: opened.journal,
      longCut: longCut, threads: threads,
      notify: { changes in told.withLock { $0.append(changes) } }, report: report)
  }

  /// Writes the rows that are held.
  func writeRows() { held.take()?() }

  // MARK: - Programs

  private static func name(_ path: String) -> FileName {
    FileName(Array(path.split(separator: "/").last ?? "").flatMap { Array(String($0).utf8) })
  }

  func number(_ path: String) throws -> InodeNumber {
    var number = InodeNumber.root
    for part in path.split(separator: "/") {
      let status = try tree.lookup(number, FileName(Array(part.utf8)))
      // Nobody goes on knowing it.
      tree.forget(status.number, count: 1)
      number = status.number
    }
    return number
  }

  func place(_ path: String) throws -> InodeName {
    let parts = path.split(separator: "/")
    return InodeName(
      directory: try number(parts.dropLast().joined(separator: "/")),
      name: FileName(Array((parts.last ?? "").utf8)))
  }

  /// Makes a file, or opens it, and returns its number and a handle.
  func open(_ path: String, emptying: Bool = false) throws -> (number: InodeNumber, HandleNumber) {
    if let number = try? number(path) {
      let mode: OpenMode = emptying ? [.read, .write, .truncate] : [.read, .write]
      return (number, try tree.open(number, mode: mode).handle)
    }
    let place = try place(path)
    let (status, handle) = try tree.create(
      place.directory, place.name, mode: 0o644, open: [.read, .write], caller: Self.caller)
    tree.forget(status.number, count: 1)
    return (status.number, handle)
  }

  func write(_ text: String, through handle: HandleNumber, at offset: UInt64 = 0) throws {
    try Array(text.utf8).withUnsafeBytes { raw in
      Result { () throws(FSError) in try tree.write(handle, at: offset, raw) }
    }.get()
  }

  func close(_ handle: HandleNumber) throws {
    try tree.flush(handle)
    try tree.release(handle)
  }

  /// Writes a file anew and closes it.
  func save(_ path: String, _ text: String) throws {
    let (_, handle) = try open(path, emptying: true)
    try write(text, through: handle)
    try close(handle)
  }

  func makeDirectory(_ path: String) throws {
    let place = try place(path)
    let status = try tree.makeDirectory(
      place.directory, place.name, mode: 0o755, caller: Self.caller)
    tree.forget(status.number, count: 1)
  }

  func unlink(_ path: String) throws {
    let place = try place(path)
    try tree.unlink(place.directory, place.name)
  }

  func removeDirectory(_ path: String) throws {
    let place = try place(path)
    try tree.removeDirectory(place.directory, place.name)
  }

  func rename(_ from: String, _ to: String, _ mode: RenameMode = .replacing) throws {
    try tree.rename(try place(from), to: try place(to), mode: mode)
  }

  func link(_ path: String, _ new: String) throws {
    let place = try place(new)
    let status = try tree.link(try number(path), place.directory, place.name)
    tree.forget(status.number, count: 1)
  }

  func text(of number: InodeNumber) throws -> String {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = try bytes.withUnsafeMutableBytes { raw in
      Result { () throws(FSError) in try tree.read(number, at: 0, into: raw) }
    }.get()
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  // MARK: - What is shown

  /// A path as programs see it: its text, nil for a directory, and the number.
  struct Shown: Hashable {
    var text: String?
    var number: InodeNumber
  }

  /// The whole tree.
  func shown() throws -> [String: Shown] {
    var shown: [String: Shown] = [:]
    func list(_ directory: InodeNumber, _ path: String) throws {
      let listing = try tree.openDirectory(directory)
      var page = try tree.list(listing, after: .start)
      while let last = page.last {
        for entry in page {
          let below = path.isEmpty ? entry.name.text : "\(path)/\(entry.name.text)"
          let isDirectory = try tree.status(of: entry.number).kind == .directory
          shown[below] = Shown(
            text: isDirectory ? nil : try text(of: entry.number), number: entry.number)
          if isDirectory { try list(entry.number, below) }
        }
        page = try tree.list(listing, after: last.cookie)
      }
    }
    try list(.root, "")
    return shown
  }

  /// The texts of the tree's files, and nil for directories.
  func texts() throws -> [String: String?] { try shown().mapValues(\.text) }

  /// The attributes of all that programs see, but for access times.
  func statuses() throws -> [String: InodeStatus] {
    var statuses = try shown().mapValues { try tree.status(of: $0.number) }
    statuses[""] = try tree.status(of: .root)
    return statuses.mapValues { status in
      var status = status
      status.atime = status.mtime
      return status
    }
  }

  /// The texts of the head's files, and nil for directories.
  func recordedTexts() throws -> [String: String?] {
    var texts: [String: String?] = [:]
    let head = try store.state().head.flatMap { try store.version($0) }
    let view = TreeView(map: store.map(head?.map ?? .empty))
    func list(_ path: [UInt8]) throws {
      var listing = view.list(path)
      while let item = try listing.next() {
        let below = path.isEmpty ? item.name : path + [0x2F] + item.name
        switch try view.find(path: below) {
        case .value(let entry)?:
          texts[String(decoding: below, as: UTF8.self)] = String(
            decoding: store.readable(entry.stored), as: UTF8.self)
        case .directory?:
          texts[String(decoding: below, as: UTF8.self)] = .some(nil)
          try list(below)
        case nil: break
        }
      }
    }
    try list([])
    return texts
  }

  // MARK: - Heads

  @discardableResult
  func cut(_ reason: CutReason = .command) throws -> CutOutcome {
    let outcome = try versioner.transition(CutRequest(reason))
    writeRows()
    return outcome
  }

  /// A version that somebody else makes of values; nil removes one.
  func others(
    _ values: [String: String?], on predecessor: VersionNumber? = nil
  ) throws -> VersionNumber {
    let base = try (predecessor ?? store.state().head).flatMap { try store.version($0)?.id }
    let changes = values.sorted { $0.key < $1.key }.map { key, text -> Value.Change in
      let id = Value.ID(bytes: KeyCoding.key(ofPath: Array(key.utf8)).bytes)
      return text.map { .insert(Value(id: id, data: Array($0.utf8))) } ?? .remove(id)
    }
    let version = try store.makeVersion(basedOnPredecessor: base, storing: changes)
    return try #require(try store.version(version.id)).number
  }

  /// Cuts, and merges a version with the head.
  @discardableResult
  func merge(_ other: VersionNumber) throws -> CutOutcome {
    try versioner.transition(CutRequest(.command, headReason: .merge)) {
      transaction, head throws(StoreError) in
      guard let head else { return other }
      return try transaction.mergeSides([head, other], live: head).outcome
    }
  }

  /// Cuts, and goes to a version.
  @discardableResult
  func go(to version: VersionNumber) throws -> CutOutcome {
    try versioner.transition(CutRequest(.command, headReason: .switched(to: "there"))) {
      (_, _) throws(StoreError) in version
    }
  }

  // MARK: - Checks

  /// Checks all invariants: the rows are the head's, and what is pending is consistent over them.
  func check(_ note: @autoclosure () -> String = "") throws {
    writeRows()
    versioner.awaitShown()
    let head = try store.state().head.flatMap { try store.version($0) }
    let view = TreeView(map: store.map(head?.map ?? .empty))
    let faults = try recorded.faults(comparedWith: view)
    #expect(faults == [], "\(note())")
    #expect(recorded.state.version == head?.id, "\(note())")
    try tree.pending.check(over: recorded)
  }
}

/// The rows of a cut that are to be written later.
private final class HeldRows: Sendable {
  private let body = Monitor<(@Sendable () -> Void)?>(nil)

  func put(_ body: @escaping @Sendable () -> Void) -> Bool {
    self.body.withLock { $0 = body }
    return true
  }

  func take() -> (@Sendable () -> Void)? {
    body.withLock { body in
      defer { body = nil }
      return body
    }
  }
}
