package import Inodes
package import LLVSCore

extension Overlay {
  /// Returns operations that make inodes known before a change concerns them, each directory before its content.
  /// Known inodes are left out, and the root unless it is in `numbers`.
  package func bindings(
    of numbers: [InodeNumber], over base: any Base
  ) throws(StoreError) -> [Change.Operation] {
    var found: [(number: InodeNumber, node: PendingNode)] = []
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

  /// nil if the recorded tree has no such inode.
  func node(of number: InodeNumber, over base: any Base) throws(StoreError) -> PendingNode? {
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
  /// The times that a directory shows over its record: its own, but for those that a head moved since. A head sets
  /// its ctime, and its mtime if names changed.
  func times(over record: InodeRecord) -> NumberHints.Times {
    var times = NumberHints.Times(modified: shownTime, changed: max(changed, record.changed))
    let recorded = record.shownTime ?? record.attributes.mtime ?? record.changed
    // A recorded mtime may be in the future.
    let isMoved = record.changed > changed || record.attributes.mtime == nil
    if isMoved, !hasSetTime { times.modified = max(times.modified, recorded) }
    return times
  }

  /// Shows the record of an inode without pending changes.
  mutating func show(_ record: InodeRecord) {
    attributes = record.attributes
    // Without a recorded time the ctime is shown, which every change moves from now on.
    attributes.mtime = record.shownTime ?? record.attributes.mtime ?? record.changed
    // Names that were added and removed moved it, too.
    changed = max(changed, record.changed)
    lacksExtended = record.lacksExtended
    guard !record.isDirectory else { return }
    if file == nil { file = PendingFile(content: FileContent(stored: record.stored)) }
    file?.content = FileContent(stored: record.stored)
  }
}
