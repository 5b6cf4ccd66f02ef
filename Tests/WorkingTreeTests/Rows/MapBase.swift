import Inodes
import LLVSCore
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// A base straight from a map, with the numbers that another base has: what that one must answer.
final class MapBase: Base {
  private struct Node {
    var inode: BaseInode
    var names: [InodeName] = []
    var children: [FileName: (number: InodeNumber, key: Key?)] = [:]
  }

  let batch: UInt64 = 0
  private let nodes: [InodeNumber: Node]

  init(_ view: TreeView, numbers: (TreePath) throws -> InodeNumber) throws {
    let none = Attributes.Time(seconds: 0, nanoseconds: 0)
    var nodes: [InodeNumber: Node] = [
      .root: Node(
        inode: BaseInode(number: .root, record: InodeRecord(nil, changed: none), links: 0))
    ]
    for (path, found) in try TreeMaps.shown(view).sorted(by: { $0.key < $1.key }) {
      let number = try numbers(path)
      let parent = path.parent.isRoot ? .root : try numbers(path.parent)
      let entry: Entry? =
        switch found {
        case .value(let entry): entry
        case .directory(let entry): entry
        }
      var node =
        nodes[number]
        ?? Node(
          inode: BaseInode(number: number, record: InodeRecord(entry, changed: none), links: 0))
      node.names.append(InodeName(directory: parent, name: path.name))
      if !found.isDirectory { node.inode.links += 1 }
      nodes[number] = node
      nodes[parent]?.children[path.name] = (number, entry?.key(besides: path))
      if found.isDirectory { nodes[parent]?.inode.links += 1 }
    }
    self.nodes = nodes
  }

  /// The numbers of all inodes.
  var numbers: [InodeNumber] { nodes.keys.sorted() }

  private func entry(_ name: FileName, _ child: (number: InodeNumber, key: Key?)) -> BaseEntry? {
    nodes[child.number].map {
      BaseEntry(name: name, cookie: .start, inode: $0.inode, key: child.key)
    }
  }

  func child(
    of directory: InodeNumber, named name: FileName
  ) throws(StoreError) -> BaseEntry? {
    nodes[directory]?.children[name].flatMap { entry(name, $0) }
  }

  /// All entries, in the order of names; a map has no cookies.
  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(StoreError) -> [BaseEntry] {
    (nodes[directory]?.children ?? [:]).sorted { $0.key < $1.key }
      .compactMap { entry($0.key, $0.value) }
  }

  func count(of directory: InodeNumber, atMost limit: Int) throws(StoreError) -> Int {
    min(limit, nodes[directory]?.children.count ?? 0)
  }

  func inode(_ number: InodeNumber) throws(StoreError) -> BaseInode? { nodes[number]?.inode }

  func names(of number: InodeNumber) throws(StoreError) -> [InodeName] {
    nodes[number]?.names ?? []
  }
}
