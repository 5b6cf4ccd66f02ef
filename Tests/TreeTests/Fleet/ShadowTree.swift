import Inodes
import LLVSCore
import RecordedTree
import TreeNames

/// The recorded tree of a store in rows, which follows its heads beside the live tree and is compared
/// with the head's map each time.
final class ShadowTree {
  struct Difference: Error { var text: String }

  private let path: String
  private var tree: RecordedTree?
  private var shown: TreeHead?
  private var nextNumber: UInt64 = 2
  private lazy var numbers = NumberSource { [unowned self] count in
    defer { nextNumber += count }
    return nextNumber
  }

  init(at path: String) { self.path = path }

  /// Ends as by a kill: the next time the file is opened as it is.
  func close() { tree = nil }

  /// Becomes the tree of the store's head, and compares all of its rows with the map.
  func follow(_ store: Store) throws {
    let state = try store.state()
    let root = state.headMap ?? .empty
    if tree != nil, shown?.view.map.root == root { return }
    let head = TreeHead(
      cut: (shown?.cut ?? 0) + 1,
      version: try state.head.flatMap { try store.version($0)?.id },
      view: TreeView(map: store.map(root)))
    if let tree, let shown {
      try tree.prepare(head, from: shown.view, numbers: numbers, now: Self.time)
      try tree.publish()
    } else {
      let origin = RecordedTree.Origin(
        storeID: store.storeID, head: head, numbers: numbers,
        map: { _, root in store.map(root) }, time: { _ in Self.time }, now: Self.time)
      let (opened, opening) = try RecordedTree.open(at: path, for: origin)
      if shown != nil, case .built(let reason) = opening { throw Difference(text: reason) }
      tree = opened
    }
    shown = head
    let faults = try tree?.faults(comparedWith: head.view) ?? []
    guard faults.isEmpty else { throw Difference(text: "\(faults)") }
  }

  private static let time = Attributes.Time(seconds: 1, nanoseconds: 0)
}
