import Foundation
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// What becomes of kinds, modes, links, extended attributes and directories: each case once by a merge of
/// ours, and once where plain LLVS made the merge and said nothing of attributes.
@Suite(.timeLimit(.minutes(1)))
struct MergeDecisionTests {
  private struct Item: Hashable {
    var text = "0"
    var kind = EntryKind.regular
    var mode: UInt32?
    var seconds: Int64?
    var extended: [String: String] = [:]

    init(
      _ text: String = "0", kind: EntryKind = .regular, mode: UInt32? = nil,
      at seconds: Int64? = nil,
      extended: [String: String] = [:]
    ) {
      self.text = text
      self.kind = kind
      self.mode = mode
      self.seconds = seconds
      self.extended = extended
    }

    init(_ entry: Entry, _ text: String) {
      self.init(
        text, kind: entry.isDirectory ? .regular : entry.kind, mode: entry.attributes.mode,
        at: entry.attributes.mtime?.seconds,
        extended: Dictionary(
          entry.attributes.extended.map {
            (String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
          }
        ) { $1 })
    }

    var attributes: Attributes {
      var attributes = Attributes()
      attributes.mode = mode
      attributes.mtime = seconds.map { .init(seconds: $0, nanoseconds: 0) }
      attributes.extended = extended.sorted { $0.key < $1.key }.map {
        .init(name: Array($0.key.utf8), value: Array($0.value.utf8))
      }
      return attributes
    }
  }

  private let directory: TemporaryDirectory
  private let store: Store

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
  }

  /// A version of these values, whole; a name with a slash at its end is a directory.
  private func author(_ tree: [String: Item], on first: VersionRecord?) throws -> VersionRecord {
    try store.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      let base = store.map(first?.map ?? .empty)
      var edits: [MapEdit] = []
      var left = tree
      var cursor = MapCursor(base)
      while let old = try cursor.next() {
        let name = old.key.rawValue + (old.isDirectory ? "/" : "")
        guard let item = left.removeValue(forKey: name) else {
          edits.append(.remove(old.key, directory: old.isDirectory))
          continue
        }
        var entry = old
        entry.attributes = item.attributes
        if !old.isDirectory { entry.kind = item.kind }
        let bytes = Array(item.text.utf8)
        if !old.isDirectory, old.stored.digest != Digest.of(bytes) || old.kind != item.kind {
          entry.stored = try transaction.write(bytes)
          entry.storedVersion = number
        }
        if entry == old { continue }
        entry.revision = try transaction.allotRevisions()
        edits.append(.put(entry))
      }
      for (name, item) in left {
        let isDirectory = name.hasSuffix("/")
        let stored =
          isDirectory
          ? StoredContent(length: 0, digest: .ofNothing, content: .none)
          : try transaction.write(Array(item.text.utf8))
        edits.append(
          .put(
            Entry(
              key: Key(isDirectory ? String(name.dropLast()) : name),
              kind: isDirectory ? .directory : item.kind, attributes: item.attributes,
              stored: stored, storedVersion: number, revision: try transaction.allotRevisions())))
      }
      let map = try base.applying(edits: edits.sorted(by: MapEdit.precedes))
      return try transaction.add(
        AuthoredVersion(number: number, first: first?.number, base: base, map: map))
    }
  }

  private func tree(_ number: VersionNumber) throws -> [String: Item] {
    var tree: [String: Item] = [:]
    var cursor = MapCursor(store.map(of: try require(store.version(number))))
    while let entry = try cursor.next() {
      let text = String(
        decoding: try store.contents.bytes(entry.stored, atMost: 1000), as: UTF8.self)
      tree[entry.key.rawValue + (entry.isDirectory ? "/" : "")] = Item(
        entry, entry.isDirectory ? "0" : text)
    }
    return tree
  }

  /// Both merges of two sides of which the second is the newer; the keys that were dropped.
  private func check(
    _ base: [String: Item], _ first: [String: Item], _ second: [String: Item],
    gives expected: [String: Item], dropping dropped: [String] = [],
    plain: [String: Item]? = nil, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let root = try author(base, on: nil)
    let (a, b) = (try author(first, on: root), try author(second, on: root))
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeSides([a.number, b.number], live: nil)
    }
    let ours = try require(report.outcome)
    let held = try tree(ours)
    #expect(held == expected, sourceLocation: location)
    #expect(
      try store.openConflicts(at: ours).map(\.key.rawValue) == dropped, sourceLocation: location)
    // Plain LLVS takes the versions from a folder, merges them and gives its merge back.
    let folder = directory.file("x\(root.number.rawValue)")
    try FileSystem.makeDirectory(folder)
    let others = try Store.open(
      path: directory.file("o\(root.number.rawValue)"), mode: .writer, create: true)
    _ = try others.retrieve(from: StoreSource(store))
    let play = try FleetPlay(seed: UInt64(root.number.rawValue))
    let plainReplica = PlainReplica(.change)
    try FolderFormat.files.send(store, folder)
    for record in [root, a, b] {
      #expect(try FileSystem.exists("\(folder)/versions/\(record.id.rawValue)"))
    }
    // It knows these alone.
    for name in try FileSystem.list("\(folder)/versions")
    where ![root, a, b].contains(where: { $0.id.rawValue == name }) {
      try FileSystem.unlink("\(folder)/versions/\(name)")
    }
    try plainReplica.retrieve(from: folder)
    #expect(plainReplica.merge(play) == 1, sourceLocation: location)
    try plainReplica.send(to: folder)
    let exchanged = try FolderFormat.files.retrieve(into: others, folder)
    #expect(exchanged.taken.count == 1, "\(exchanged.refused)", sourceLocation: location)
    let made = try require(exchanged.taken.first)
    _ = try store.retrieve(from: StoreSource(others))
    let foreign = try require(store.version(made)).number
    #expect(try tree(foreign) == plain ?? expected, "plain LLVS", sourceLocation: location)
  }

  @Test(
    "modes: one side's change is taken, of two the newer side's, beside any change of the bytes")
  func modes() throws {
    try check(
      ["a": Item(mode: 0o644)], ["a": Item(mode: 0o600)], ["a": Item(mode: 0o644)],
      gives: ["a": Item(mode: 0o600)])
    try check(
      ["a": Item(mode: 0o644)], ["a": Item(mode: 0o600)], ["a": Item(mode: 0o755)],
      gives: ["a": Item(mode: 0o755)])
    try check(
      ["a": Item(mode: 0o644)], ["a": Item(mode: 0o755)], ["a": Item("2", mode: 0o644)],
      gives: ["a": Item("2", mode: 0o755)])
    // A removal wins over a change of the mode alone.
    try check(
      ["a": Item(mode: 0o644), "b": Item()], ["a": Item(mode: 0o755), "b": Item()], ["b": Item()],
      gives: ["b": Item()])
  }

  @Test("extended attributes are merged name by name")
  func extended() throws {
    try check(
      ["a": Item(extended: ["user.x": "0", "user.y": "0"])],
      ["a": Item(extended: ["user.x": "1", "user.y": "0", "user.n": "1"])],
      ["a": Item(extended: ["user.x": "0", "user.m": "2"])],
      gives: ["a": Item(extended: ["user.x": "1", "user.n": "1", "user.m": "2"])])
    try check(
      ["a": Item(extended: ["user.x": "0"])], ["a": Item(extended: ["user.x": "1"])],
      ["a": Item(extended: ["user.x": "2"])],
      gives: ["a": Item(extended: ["user.x": "2"])])
    // Changed and removed: the newer side's, here the removal.
    try check(
      ["a": Item(extended: ["user.x": "0"])], ["a": Item(extended: ["user.x": "1"])], ["a": Item()],
      gives: ["a": Item()])
  }

  @Test("times: the greater of two")
  func times() throws {
    try check(
      ["a": Item(at: 5)], ["a": Item(at: 9)], ["a": Item(at: 7)], gives: ["a": Item(at: 9)])
  }

  @Test("links are bytes of their kind: never merged line by line, and clash as a whole")
  func links() throws {
    try check(
      ["l": Item("to/0", kind: .symlink)], ["l": Item("to/1", kind: .symlink)],
      ["l": Item("to/0", kind: .symlink)], gives: ["l": Item("to/1", kind: .symlink)])
    try check(
      ["l": Item("to/0", kind: .symlink)], ["l": Item("to/1", kind: .symlink)],
      ["l": Item("to/2", kind: .symlink)], gives: ["l": Item("to/2", kind: .symlink)],
      dropping: ["l"])
    // A file here, a link there.
    try check(
      ["l": Item("0")], ["l": Item("1")], ["l": Item("to/2", kind: .symlink)],
      gives: ["l": Item("to/2", kind: .symlink)], dropping: ["l"])
    try check(
      ["l": Item("0")], ["l": Item("to/1", kind: .symlink)], ["l": Item("0", mode: 0o600)],
      gives: ["l": Item("to/1", kind: .symlink, mode: 0o600)])
  }

  @Test("an edit wins over a removal and is listed, whichever side is newer")
  func removals() throws {
    try check(
      ["a": Item(), "b": Item()], ["a": Item("1"), "b": Item()], ["b": Item()],
      gives: ["a": Item("1"), "b": Item()], dropping: ["a"])
    try check(
      ["a": Item(), "b": Item()], ["b": Item()], ["a": Item("2"), "b": Item()],
      gives: ["a": Item("2"), "b": Item()], dropping: ["a"])
    try check(["a": Item(), "b": Item()], ["b": Item()], ["b": Item()], gives: ["b": Item()])
  }

  @Test("a file and a directory of one name are both kept")
  func fileAndDirectory() throws {
    try check(
      ["z": Item()], ["z": Item(), "a": Item("1")], ["z": Item(), "a/b": Item("2")],
      gives: ["z": Item(), "a": Item("1"), "a/b": Item("2")])
    // What was a file becomes a directory here and is edited there.
    try check(
      ["a": Item()], ["a/b": Item("1")], ["a": Item("2")],
      gives: ["a": Item("2"), "a/b": Item("1")], dropping: ["a"])
  }

  @Test("a directory stays where something was added below it, and goes where both let it go")
  func directories() throws {
    let empty = Item(mode: 0o755)
    try check(
      ["d/": empty, "z": Item()], ["z": Item()], ["d/": empty, "d/n": Item("2"), "z": Item()],
      gives: ["d/": empty, "d/n": Item("2"), "z": Item()])
    try check(
      ["d/": empty, "d/a": Item(), "z": Item()], ["z": Item()],
      ["d/": empty, "d/a": Item(), "z": Item("2")], gives: ["z": Item("2")])
    try check(
      ["d/": empty, "z": Item()], ["d/": Item(mode: 0o700), "z": Item()],
      ["d/": empty, "e/": empty, "z": Item()],
      gives: ["d/": Item(mode: 0o700), "e/": empty, "z": Item()])
  }

  @Test("renamed here and edited there: the edit has the new name; plain LLVS keeps both")
  func renames() throws {
    try check(
      ["a": Item("old", mode: 0o644)], ["b": Item("old", mode: 0o600)],
      ["a": Item("new", mode: 0o755)], gives: ["b": Item("new", mode: 0o600)],
      plain: ["a": Item("new", mode: 0o755), "b": Item("old", mode: 0o600)])
  }
}
