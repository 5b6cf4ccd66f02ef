import Inodes
import LLVSCore
import Synchronization
import Testing
import TreeModel

@testable import TreeSupport
@testable import WorkingTree

@Suite("What a new head looks at")
struct FollowingScopeTests {
  /// Counts the questions to a tree.
  private final class CountingBase: Base {
    let tree: ModelTree
    let count = Mutex(0)
    var batch: UInt64 { tree.batch }

    init(_ tree: ModelTree) { self.tree = tree }

    func child(
      of directory: InodeNumber, named name: FileName
    ) throws(StoreError) -> BaseEntry? {
      count.withLock { $0 += 1 }
      return try tree.child(of: directory, named: name)
    }

    func page(
      of directory: InodeNumber, after cookie: EntryCookie, limit: Int
    ) throws(StoreError) -> [BaseEntry] {
      count.withLock { $0 += 1 }
      return try tree.page(of: directory, after: cookie, limit: limit)
    }

    func count(of directory: InodeNumber, atMost limit: Int) throws(StoreError) -> Int {
      count.withLock { $0 += 1 }
      return try tree.count(of: directory, atMost: limit)
    }

    func inode(_ number: InodeNumber) throws(StoreError) -> BaseInode? {
      count.withLock { $0 += 1 }
      return try tree.inode(number)
    }

    func names(of number: InodeNumber) throws(StoreError) -> [InodeName] {
      count.withLock { $0 += 1 }
      return try tree.names(of: number)
    }
  }

  private let tree = ModelTree()

  private func place(_ name: String, in directory: InodeNumber = .root) -> InodeName {
    InodeName(directory: directory, name: FileName(name))
  }

  private func create(
    _ number: UInt64, at place: InodeName, _ kind: EntryKind = .regular, in overlay: inout Overlay
  ) {
    overlay.apply(
      Change(
        time: .zero,
        .create(
          InodeNumber(number), at: place, kind: kind, attributes: Attributes(),
          content: FileContent(), isSaved: true, seen: nil)))
  }

  /// An overlay with many files that a cut put aside.
  private func overlay() throws -> Overlay {
    var overlay = Overlay()
    create(2, at: place("scratch"), .directory, in: &overlay)
    for number in 100..<5100 as Range<UInt64> {
      create(number, at: place("\(number)", in: InodeNumber(2)), in: &overlay)
    }
    var taken = TakenCut(at: overlay.beginCut())
    taken.aside = Set(overlay.changes.keys)
    try overlay.follow(
      NewHead(base: tree, taken: taken, isHeld: { _ in false }, renumber: { _ in }))
    return overlay
  }

  @Test("a head with one file asks the recorded tree about that, and not about all that is ignored")
  func head() throws {
    var overlay = try overlay()
    let before = overlay
    create(3, at: place("a"), in: &overlay)
    var taken = TakenCut(at: overlay.beginCut())
    let node = try #require(overlay.nodes.node(InodeNumber(3)))
    taken.names[place("a")] = TakenCut.Name(.head, isThere: true)
    taken.nodes[InodeNumber(3)] = TakenCut.Node(
      .head, save: node.file?.saved, on: nil, attributes: node.attributes)
    tree.put(ModelTree.Inode(), InodeNumber(3))
    tree.set(place("a"), InodeNumber(3))
    let base = CountingBase(tree)
    var head = NewHead(base: base, taken: taken, isHeld: { _ in false }, renumber: { _ in })
    head.rows = ChangedRows(numbers: [InodeNumber(3)], names: [place("a")])
    try overlay.follow(head)
    #expect(base.count.withLock { $0 } < 100)
    #expect(overlay.changes == before.changes && overlay.nodes == before.nodes)
    try overlay.check(over: tree)
  }

  @Test("what programs change in ignored directories during a cut is not asked about")
  func during() throws {
    var overlay = try overlay()
    create(3, at: place("a"), in: &overlay)
    var taken = TakenCut(at: overlay.beginCut())
    for number in 6000..<8000 as Range<UInt64> {
      create(number, at: place("\(number)", in: InodeNumber(2)), in: &overlay)
    }
    let node = try #require(overlay.nodes.node(InodeNumber(3)))
    taken.names[place("a")] = TakenCut.Name(.head, isThere: true)
    taken.nodes[InodeNumber(3)] = TakenCut.Node(
      .head, save: node.file?.saved, on: nil, attributes: node.attributes)
    tree.put(ModelTree.Inode(), InodeNumber(3))
    tree.set(place("a"), InodeNumber(3))
    let base = CountingBase(tree)
    var head = NewHead(base: base, taken: taken, isHeld: { _ in false }, renumber: { _ in })
    head.rows = ChangedRows(numbers: [InodeNumber(3)], names: [place("a")])
    try overlay.follow(head)
    #expect(base.count.withLock { $0 } < 100)
    try overlay.check(over: tree)
  }

  @Test("a file of the recorded tree that loses its ignored name is forgotten")
  func ignoredName() throws {
    let (file, recorded, ignored) = (InodeNumber(2), place("a"), place("ignored"))
    tree.put(ModelTree.Inode(), file)
    tree.set(recorded, file)
    var overlay = Overlay()
    let node = try #require(try overlay.node(of: file, over: tree))
    overlay.apply(Change(time: .zero, .node(file, node)))
    overlay.apply(
      Change(time: .zero, .link(file, at: ignored, id: ModelLink.id(1), seen: nil)))
    overlay.nodes[file]?.hasNewAttributes = false
    _ = overlay.beginCut()
    // A mount lists what is pending alone, and this cut puts the name aside.
    overlay.inCut.inodes.remove(file)
    try overlay.abandonCut(over: tree, aside: [ignored])
    overlay.apply(Change(time: .zero, .unlink(ignored, of: file, isKept: false)))
    let taken = TakenCut(at: overlay.beginCut())
    var head = NewHead(base: tree, taken: taken, isHeld: { _ in false }, renumber: { _ in })
    head.rows = ChangedRows()
    try overlay.follow(head)
    #expect(overlay.nodes.isEmpty)
  }

  @Test("a cut that takes nothing asks about what changed since the last one")
  func abandoned() throws {
    var overlay = try overlay()
    create(3, at: place("a"), in: &overlay)
    _ = overlay.beginCut()
    let base = CountingBase(tree)
    try overlay.abandonCut(over: base)
    #expect(base.count.withLock { $0 } < 100)
    try overlay.check(over: tree)
  }
}
