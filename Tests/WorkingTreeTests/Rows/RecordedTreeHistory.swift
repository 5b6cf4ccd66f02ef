import Inodes
import LLVSCore
import SQLite
import Synchronization
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// A recorded tree that follows a history of maps, checked after each.
final class RecordedTreeHistory {
  static let storeID = [UInt8](repeating: 7, count: 16)

  let directory: TemporaryDirectory
  var path: String { directory.file("tree.sqlite") }
  var maps: TreeMaps
  private(set) var entries: TreeMaps.Entries = [:]
  private(set) var view: TreeView
  private(set) var tree: RecordedTree?
  private(set) var cut: Int64 = 0
  private var clock: Int64 = 1_000
  private let numbers = NumberSource(from: 2)
  /// The bytes that each number was seen with: no number is ever that of others.
  private var identities: [InodeNumber: FileIdentity] = [:]
  /// The heads that there were, as a store would have them.
  private var heads: [MapRoot: ValueMap] = [:]

  init(seed: UInt64) throws {
    directory = try TemporaryDirectory(inMemory: true)
    maps = TreeMaps(seed: seed)
    view = try maps.view([:])
  }

  var now: Attributes.Time { Attributes.Time(seconds: clock, nanoseconds: 5) }

  func version(_ cut: Int64) -> Version.ID { Version.ID("version \(cut)") }

  func head() -> TreeHead { TreeHead(cut: cut, version: version(cut), view: view) }

  func origin(storeID: [UInt8] = storeID) -> RecordedTree.Origin {
    RecordedTree.Origin(
      storeID: storeID, head: head(), numbers: numbers, map: { [heads] _, root in heads[root] },
      time: { Attributes.Time(seconds: Int64($0?.rawValue ?? 0), nanoseconds: 0) }, now: now)
  }

  /// Opens the tree of the head that there is now.
  @discardableResult
  func open() throws -> RecordedTree.Opening {
    tree = nil
    heads[view.map.root] = view.map
    let (opened, opening) = try RecordedTree.open(at: path, for: origin())
    tree = opened
    return opening
  }

  func close() { tree = nil }

  /// Changes the head without telling the tree.
  func change(_ body: (inout TreeMaps, inout TreeMaps.Entries) throws -> Void) throws {
    try body(&maps, &entries)
    view = try maps.view(entries)
    heads[view.map.root] = view.map
    cut += 1
    clock += 1
  }

  /// Changes the head and the tree; `beforeShown` is called when the rows are prepared and not shown yet.
  func advance(
    hints: @autoclosure () -> NumberHints = NumberHints(),
    beforeShown: (RecordedTree) throws -> Void = { _ in },
    _ body: (inout TreeMaps, inout TreeMaps.Entries) throws -> Void
  ) throws {
    let before = view
    try change(body)
    let tree = try #require(tree)
    let batch = tree.batch
    try tree.prepare(head(), from: before, hints: hints(), numbers: numbers, now: now)
    #expect(tree.batch == batch)
    try beforeShown(tree)
    try checkChanged(tree)
    try tree.publish()
    #expect(tree.batch == batch + 2)
  }

  func number(_ path: TreePath) throws -> InodeNumber? {
    let tree = try #require(tree)
    var number = InodeNumber.root
    for name in path.names {
      guard let entry = try tree.child(of: number, named: name) else { return nil }
      number = entry.inode.number
    }
    return number
  }

  /// The numbers of all paths.
  func allNumbers() throws -> [TreePath: InodeNumber] {
    var result: [TreePath: InodeNumber] = [:]
    for path in try TreeMaps.shown(view).keys { result[path] = try number(path) }
    return result
  }

  // MARK: - Checks

  /// Checks that the rows are those of the map, and that the tree answers as the map does.
  func check(_ note: String) throws {
    let tree = try #require(tree)
    #expect(try tree.faults(comparedWith: view) == [], "\(note)")
    let oracle = try MapBase(view) { try #require(try number($0), "\($0), \(note)") }
    for number in oracle.numbers {
      let inode = try #require(try tree.inode(number))
      let expected = try #require(try oracle.inode(number))
      #expect(isEqual(inode, expected), "\(note)")
      let names = try tree.names(of: number)
      #expect(Set(names) == Set(try oracle.names(of: number)), "\(note)")
      let listed = try oracle.page(of: number, after: .start, limit: .max)
      for size in [1, 3, 512] {
        let pages = try list(tree, number, size, note)
        #expect(pages.map(\.name) == listed.map(\.name), "\(note)")
        for (a, b) in zip(pages, listed) {
          #expect(isEqual(a.inode, b.inode) && a.key == b.key, "\(note)")
        }
      }
      for entry in listed {
        let child = try #require(try tree.child(of: number, named: entry.name))
        #expect(isEqual(child.inode, entry.inode) && child.key == entry.key, "\(note)")
      }
      #expect(try tree.child(of: number, named: FileName("nobody".utf8)) == nil)
    }
    try checkIdentities(tree, oracle, note)
  }

  /// Checks that the prepared tree has nothing new of an inode that is not among the changed numbers.
  private func checkChanged(_ tree: RecordedTree) throws {
    guard let changed = tree.changedNumbers else { return }
    let rows = tree.prepared
    for number in try inodes(of: tree).union(inodes(of: rows)).subtracting(changed) {
      let (old, new) = (try tree.inode(number), try rows.inode(number))
      #expect(old?.record == new?.record, "the record of \(number) changed")
      #expect(
        Set(try tree.names(of: number)) == Set(try rows.names(of: number)),
        "the names of \(number) changed")
    }
  }

  private func inodes(of base: any Base) throws -> Set<InodeNumber> {
    var found: Set<InodeNumber> = [.root]
    var open: [InodeNumber] = [.root]
    while let directory = open.popLast() {
      for entry in try base.page(of: directory, after: .start, limit: .max)
      where found.insert(entry.inode.number).inserted && entry.inode.record.isDirectory {
        open.append(entry.inode.number)
      }
    }
    return found
  }

  private func isEqual(_ a: BaseInode, _ b: BaseInode) -> Bool {
    a.number == b.number && a.links == b.links
      && (a.record.attributes.linkID == nil
        ? a.record.isRecordedAs(b.record) : a.record.hasSameContent(as: b.record))
  }

  /// Lists a directory in pages; returns the entries by name.
  private func list(
    _ tree: RecordedTree, _ number: InodeNumber, _ size: Int, _ note: String
  ) throws -> [BaseEntry] {
    var entries: [BaseEntry] = []
    while true {
      let page = try tree.page(of: number, after: entries.last?.cookie ?? .start, limit: size)
      entries += page
      #expect(page.count <= size, "\(note)")
      guard page.count == size else { break }
    }
    #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.cookie < $1.cookie }, "\(note)")
    return entries.sorted { $0.name < $1.name }
  }

  /// Other bytes always have another number.
  private func checkIdentities(_ tree: RecordedTree, _ oracle: MapBase, _ note: String) throws {
    for number in oracle.numbers {
      guard let record = try oracle.inode(number)?.record else { continue }
      let identity = FileIdentity(record)
      #expect(identities[number].map { $0 == identity } ?? true, "number \(number), \(note)")
      identities[number] = identity
    }
  }
}

extension RecordedTree {
  /// Copies the whole write-ahead log into the file; no head is prepared.
  func emptyLog() {
    readers.endTransactions()
    writer.withLock { $0.loan.rows.database.emptyLog() }
  }
}
