import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// The kinds of journals that a tree is tested over.
enum JournalKind: CaseIterable {
  /// All changes in memory.
  case memory
  /// The real one.
  case file
}

/// A working tree over the recorded tree of a real store.
// Unchecked: one thread at a time makes heads.
final class FileFixture: @unchecked Sendable {
  let directory: TemporaryDirectory
  let store: Store
  let recorded: RecordedTree
  let journal: any ChangeJournal
  let tree: WorkingTree
  let observed: ObservedHead
  private var view: TreeView
  private(set) var head: VersionRecord
  private var cut: Int64 = 1
  /// True once a head was followed, of which the journals here do not know.
  private var hasFollowed = false
  private let numbers: NumberSource
  private let time = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 0)

  private static let owner = JournalOwner(
    storeID: [UInt8](repeating: 1, count: 16), bootID: Array("boot".utf8))

  /// Makes a store whose head has some files, and a tree of it that a user mounts.
  init(
    _ files: [String: [UInt8]] = [:], over kind: JournalKind = .memory, by user: UInt32 = 1000
  ) throws {
    directory = try TemporaryDirectory(inMemory: true)
    let store = try Store.open(path: directory.file("store"), create: true)
    self.store = store
    head = try Self.version(of: store, on: nil, files.mapValues { $0 })
    view = TreeView(map: store.map(of: head))
    numbers = NumberSource(of: store)
    let time = time
    recorded = try RecordedTree.open(
      at: directory.file("tree.sqlite"),
      for: RecordedTree.Origin(
        storeID: Self.owner.storeID, head: TreeHead(cut: 1, version: head.id, view: view),
        numbers: numbers, map: { _, _ in nil }, time: { _ in time }, now: time)
    ).tree
    let recorded = recorded
    observed = ObservedHead(
      StoredHead(store) {
        let state = recorded.state
        return StoredHead.Shown(version: state.version, root: state.root)
      })
    let opened = try kind == .file ? Self.openJournal(directory.file("journal")) : nil
    journal = opened?.journal ?? MemoryJournal()
    tree = WorkingTree(
      base: recorded, overlay: opened?.overlay ?? Overlay(), journal: journal,
      contents: StoreContents(store.contents), head: observed, numbers: numbers,
      defaults: AttributeDefaults(uid: user, gid: user))
    if kind == .file { _ = try tree.renewJournal() }
  }

  private static func openJournal(_ path: String) throws -> OpenedJournal {
    try Journal.open(path, owner: owner, lastCut: 0) { Issue.record("the disk: \($0)") }
  }

  /// Makes a version; nil removes a file.
  private static func version(
    of store: Store, on predecessor: Version.ID?, _ files: [String: [UInt8]?]
  ) throws -> VersionRecord {
    let changes = files.sorted { $0.key < $1.key }.map { path, bytes -> Value.Change in
      bytes.map { .update(Value(id: Key(path), data: $0)) } ?? .remove(Key(path))
    }
    let version = try store.makeVersion(basedOnPredecessor: predecessor, storing: changes)
    return try #require(try store.version(version.id))
  }

  // MARK: - Heads

  /// Makes another head with other files, as a merge does: its epoch is a new one.
  func follow(_ files: [String: [UInt8]?]) throws {
    try bindOpenFiles()
    head = try Self.version(of: store, on: head.id, files)
    try publish(taken: nil, changing: files.keys.sorted())
  }

  /// Makes another head in which files and directories have other attributes, as a merge does.
  func give(_ attributes: [String: Attributes]) throws {
    try bindOpenFiles()
    let (base, before) = (store.map(of: head), head)
    head = try store.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      var edits: [MapEdit] = []
      for (path, attributes) in attributes {
        let key = Key(path)
        let revision = try transaction.allotRevisions()
        guard var entry = try base.entry(at: key, directory: false) else {
          edits.append(
            .put(
              Entry(
                key: key, kind: .directory, attributes: attributes, stored: .none,
                storedVersion: number, revision: revision)))
          continue
        }
        (entry.attributes, entry.revision) = (attributes, revision)
        edits.append(.put(entry))
      }
      let map = try base.applying(edits: edits.sorted(by: MapEdit.precedes))
      return try transaction.add(
        NewVersion(
          number: number, id: .random(), first: before.number, timestamp: before.timestamp + 1,
          flags: .madeHere, metadata: [.digest: Version.MetadataValue(map.contentDigest.hex)],
          map: map.root, changedKeys: attributes.keys.map { Key($0) }))
    }
    try publish(taken: nil, changing: attributes.keys.sorted())
  }

  /// Takes everything that is saved under some names into a version, as a cut does.
  func take(_ names: [String]) throws {
    var (files, taken) = ([String: [UInt8]?](), TakenCut(at: .start))
    for name in names {
      let place = Self.place(name)
      let (number, node) = try state { state in
        let number = try #require(state.overlay.nodes.first { $0.value.names == [place] }?.key)
        return (number, try #require(state.overlay.nodes[number]))
      }
      let save = try #require(node.file?.saved)
      files[name] = try bytes(of: save.content)
      taken.nodes[number] = TakenCut.Node(
        .head, save: save, on: node.on, attributes: node.attributes)
      taken.names[place] = TakenCut.Name(.head, isThere: true)
    }
    taken.stamp = tree.state { $0.overlay.beginCut() }
    head = try Self.version(of: store, on: head.id, files)
    try publish(taken: taken, changing: nil)
  }

  /// Takes what is saved in a file that lost its name, as a cut does, into a version beside the head.
  func takeDetached(_ number: InodeNumber, as epoch: Epoch) throws {
    let node = try node(number)
    var taken = TakenCut(at: tree.state { $0.overlay.beginCut() })
    taken.nodes[number] = TakenCut.Node(
      .beside(epoch), save: try #require(node.file?.saved), on: node.on,
      attributes: node.attributes)
    try publish(taken: taken, changing: [])
  }

  private func bindOpenFiles() throws {
    try state { state in
      let numbers = state.handles.openInodes
      let bindings = try state.overlay.bindings(of: numbers, over: recorded)
      for binding in bindings { state.apply(Change(time: time, binding)) }
    }
  }

  /// Puts the head in place, which changes some paths; nil for one that has only what the tree showed.
  private func publish(taken: TakenCut?, changing paths: [String]?) throws {
    let next = TreeView(map: store.map(of: head))
    cut += 1
    hasFollowed = true
    var hints = NumberHints()
    for (number, node) in taken?.nodes ?? [:] {
      guard let names = tree.state({ $0.overlay.nodes[number]?.names }) else { continue }
      let entries = try names.map { try #require(try next.find(path: $0.name.bytes)) }
      guard case .value(let entry)? = entries.first else { continue }
      hints.files.append(
        .init(
          number: number, identity: FileIdentity(entry), linkID: node.attributes.linkID,
          paths: names.map { TreePath($0.name.bytes) }))
    }
    let overlay = overlay
    hints.cookies = { directory in
      Dictionary(uniqueKeysWithValues: overlay.cookies(of: directory).map { ($0.key, $0.value) })
    }
    try recorded.prepare(
      TreeHead(cut: cut, version: head.id, view: next), from: view, hints: hints,
      numbers: numbers, now: time)
    view = next
    let shown = try (paths ?? []).map { path in
      (Self.place(path), try overlay.inode(at: Self.place(path), over: recorded))
    }
    try state { state in
      state.isPublishing = true
      let held = state
      var head = NewHead(
        base: recorded.prepared, taken: taken, epoch: paths == nil ? nil : state.overlay.epoch.next,
        isHeld: { held.isHeld($0) },
        renumber: { _ in Issue.record("a number is to change") })
      for path in paths ?? [] { head.changed.insert(TreePath(Array(path.utf8))) }
      let before = state.overlay
      try state.overlay.follow(head)
      try recorded.keepShownTimes(of: before, besides: state.overlay, taken)
      try recorded.publish()
      for (place, number) in shown {
        let new = try state.overlay.inode(at: place, over: recorded)
        if new != number { state.writers.leaveBehind(place, number, on: before.epoch) }
      }
      state.publication += 1
      state.isPublishing = false
    }
  }

  // MARK: - Files

  static func place(_ name: String) -> InodeName {
    InodeName(directory: .root, name: FileName(Array(name.utf8)))
  }

  /// The number of a file below the root.
  func number(_ name: String) throws -> InodeNumber {
    try tree.lookup(.root, FileName(Array(name.utf8))).number
  }

  /// Makes a file and opens it.
  func create(
    _ name: String, _ mode: OpenMode = [.read, .write], process: Int32 = 0,
    kind: EntryKind = .regular, content: FileContent = FileContent()
  ) throws -> (number: InodeNumber, handle: HandleNumber) {
    let number = try tree.numbers.number()
    let handle = try tree.change(by: process) { _, _ in
      WorkingTree.Decision(
        operations: [
          .create(
            number, at: Self.place(name), kind: kind, attributes: Attributes(), content: content,
            isSaved: false, seen: nil)
        ]
      ) { state in
        state.noteLookup(number)
        return state.open(number, mode.union(.created), process: process)
      }
    }
    return (number, handle)
  }

  func unlink(_ name: String) throws {
    let place = Self.place(name)
    try tree.change { state, base throws(FSError) in
      guard let number = try self.tree.inode(at: place, state, base) else { throw .noEntry }
      let isKept = state.isHeld(number)
      return WorkingTree.Decision(
        concerned: [number], operations: [.unlink(place, of: number, isKept: isKept)]
      ) { _ in }
    }
  }

  func write(
    _ handle: HandleNumber, _ bytes: [UInt8], at offset: UInt64 = 0, mapped: Bool = false
  ) throws {
    try bytes.withUnsafeBytes { raw in
      Result { () throws(FSError) in
        try tree.write(handle, at: offset, raw, mapped: mapped)
      }
    }.get()
  }

  func write(_ handle: HandleNumber, _ text: String, at offset: UInt64 = 0) throws {
    try write(handle, Array(text.utf8), at: offset)
  }

  func read(_ number: InodeNumber, at offset: UInt64 = 0, _ count: Int = 1 << 20) throws -> [UInt8]
  {
    var bytes = [UInt8](repeating: 0xEE, count: count)
    let got = try bytes.withUnsafeMutableBytes { raw in
      Result { () throws(FSError) in try tree.read(number, at: offset, into: raw) }
    }.get()
    return Array(bytes.prefix(got))
  }

  func text(_ number: InodeNumber) throws -> String {
    String(decoding: try read(number), as: UTF8.self)
  }

  func bytes(of content: FileContent) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: Int(content.size))
    _ = try bytes.withUnsafeMutableBytes { raw in
      Result { () throws(FSError) in try tree.read(content, at: 0, into: raw) }
    }.get()
    return bytes
  }

  /// Runs a closure with what the tree keeps in memory.
  func state<R>(_ body: (inout TreeState) throws -> R) throws -> R {
    try tree.state { (state: inout TreeState) -> Result<R, any Error> in
      Result { try body(&state) }
    }.get()
  }

  /// What is pending of a file.
  func node(_ number: InodeNumber) throws -> PendingNode {
    try #require(tree.state { $0.overlay.nodes[number] })
  }

  func file(_ number: InodeNumber) throws -> PendingFile {
    try #require(try node(number).file)
  }

  var overlay: Overlay { tree.state { $0.overlay } }

  /// The bytes that are saved of a file; nil if none are pending.
  func saved(_ number: InodeNumber) throws -> [UInt8]? {
    try overlay.nodes[number]?.file?.saved.map { try bytes(of: $0.content) }
  }

  func savedText(_ number: InodeNumber) throws -> String? {
    try saved(number).map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: - Checks

  /// Checks the invariants of the overlay, and that the journal makes the same one again.
  func check(_ note: String = "") throws {
    try overlay.check(over: recorded)
    let unsaved = Set(overlay.nodes.filter { $0.value.file?.isUnsaved ?? false }.map(\.key))
    #expect(tree.state { $0.unsaved } == unsaved, "\(note)")
    if let journal = journal as? MemoryJournal {
      var replayed = Overlay()
      for change in journal.changes { replayed.apply(change) }
      compare(replayed, note)
    }
  }

  /// Checks what the next mount finds after a kill.
  func checkRestart(_ note: String = "") throws {
    guard journal is Journal else { return }
    let copy = directory.file("copy")
    try FileSystem.makeDirectory(copy)
    defer { try? FileSystem.removeTree(copy) }
    for name in try FileSystem.list(directory.file("journal")) {
      let bytes = try FileSystem.read(directory.file("journal/\(name)"), atMost: 1 << 28)
      try File("\(copy)/\(name)", [.readWrite, .create]).write(bytes, at: 0)
    }
    let opened = try Self.openJournal(copy)
    #expect(opened.recovery.losses == [], "\(note)")
    compare(opened.overlay, note)
  }

  /// Compares an overlay that a journal makes; files that nobody holds any more are in that alone.
  private func compare(_ replayed: Overlay, _ note: String) {
    guard !hasFollowed else { return }
    var replayed = replayed
    let overlay = overlay
    for (number, node) in replayed.nodes where node.orphan != nil && overlay.nodes[number] == nil {
      replayed.apply(Change(time: time, .release(number)))
    }
    #expect(replayed == overlay, "\(note)")
  }
}

/// Expects that a call fails with an error of a file operation.
func expect(
  _ error: FSError, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () throws -> some Any
) {
  let thrown = #expect(throws: FSError.self, sourceLocation: sourceLocation) { _ = try body() }
  guard let thrown else { return }
  #expect("\(thrown)" == "\(error)", sourceLocation: sourceLocation)
}

extension WorkingTree {
  /// The files with unsaved bytes that have a name, or had one to which they belong.
  var unsavedFiles: [InodeNumber] {
    state { state in
      state.unsaved.filter { state.overlay.nodes[$0].map { $0.orphan != .gone } ?? false }.sorted()
    }
  }
}
