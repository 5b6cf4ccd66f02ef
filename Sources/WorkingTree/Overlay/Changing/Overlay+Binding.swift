package import Inodes
import LLVSCore

// Making inodes of the recorded tree known, before changes concern them.

extension Overlay {
  /// Returns what makes inodes known that a change is to concern, with the directories above them.
  ///
  /// The nodes come in an order in which each directory is before what is in it. Those that are known already
  /// are left out, and so is the root where only what is below it is concerned.
  ///
  /// - Throws: ``BaseError`` if the recorded tree cannot be read.
  package func bindings(
    of numbers: [InodeNumber], over base: any Base
  ) throws(BaseError) -> [Change.Operation] {
    var found: [(number: InodeNumber, node: PendingNode)] = []
    // The way up ends at the root.
    var seen: Set<InodeNumber> = numbers.contains(.root) ? [] : [.root]
    var open = numbers
    while let number = open.popLast() {
      guard !nodes.contains(number), seen.insert(number).inserted,
        let node = try node(of: number, over: base)
      else { continue }
      found.append((number, node))
      open += node.names.map(\.directory)
    }
    return found.reversed().map { .node($0.number, $0.node) }
  }

  /// Returns an inode of the recorded tree as it is shown; nil if there is none of that number.
  func node(of number: InodeNumber, over base: any Base) throws(BaseError) -> PendingNode? {
    guard let inode = try base.inode(number) else { return nil }
    let recorded = try base.names(of: number)
    var node = PendingNode(
      kind: inode.record.kind, attributes: inode.record.attributes, changed: inode.record.changed,
      names: recorded.filter { changes[$0].map { $0.inode == number } ?? true },
      recordedNames: recorded, stamp: stamp)
    node.show(inode.record)
    return node
  }
}

extension PendingNode {
  /// Shows what is recorded of an inode of which nothing is pending.
  mutating func show(_ record: InodeRecord) {
    attributes = record.attributes
    // If none is recorded, the ctime is shown, which moves with every change from now on.
    attributes.mtime = record.shownTime ?? record.attributes.mtime ?? record.changed
    // A name that came and went again moved it, too.
    changed = max(changed, record.changed)
    lacksExtended = record.lacksExtended
    guard !record.isDirectory else { return }
    if file == nil { file = PendingFile(content: FileContent(stored: record.stored)) }
    file?.content = FileContent(stored: record.stored)
  }
}
