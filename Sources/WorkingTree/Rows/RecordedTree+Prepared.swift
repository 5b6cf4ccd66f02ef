package import Inodes
package import LLVSCore
import Synchronization

extension RecordedTree {
  /// The prepared tree, before ``publish()`` shows it; without one, the shown tree.
  ///
  /// - Concurrency: any thread; calls wait for each other.
  package var prepared: any Base { PreparedTree(self) }

  /// The inodes whose records or names in the prepared tree may differ from the shown tree's; nil if any may. A
  /// head must be prepared.
  package var changedNumbers: Set<InodeNumber>? {
    writer.withLock { $0.prepared == nil ? nil : $0.loan.rows.changed }
  }

  /// Gives a number of the prepared tree, at all its names, a new one of the store, and returns it; nil if no name
  /// has the number. A directory keeps its contents. A head must be prepared; takes O(*m* log *n*) for *m* names of
  /// the inode or in the directory. If it throws, the transaction is rolled back.
  @discardableResult
  package func renumber(_ number: InodeNumber) throws(StoreError) -> InodeNumber? {
    try renumber(number) { numbers throws(StoreError) in try numbers.number() }
  }

  /// Gives an inode of the prepared tree the number that a journal has, as ``renumber(_:)``; does nothing if that
  /// is in use.
  package func renumber(_ number: InodeNumber, to known: InodeNumber) throws(StoreError) {
    guard known != .root, try prepared.inode(known) == nil else { return }
    try renumber(number) { _ in known }
  }

  @discardableResult
  private func renumber(
    _ number: InodeNumber, _ choose: (NumberSource) throws(StoreError) -> InodeNumber
  ) throws(StoreError) -> InodeNumber? {
    precondition(number != .root, "the root directory has one number")
    return try changing {
      try writer.withLock { writer in
        guard let prepared = writer.prepared else {
          preconditionFailure("a number is changed while a head is prepared")
        }
        let rows = writer.loan.rows
        guard let row = try rows.inode(number) else { return nil }
        let new = try choose(prepared.numbers)
        try rows.renumber(row, to: new)
        return new
      }
    }
  }

  /// True if an inode of the prepared tree has a name and no other. A head must be prepared.
  func has(_ number: InodeNumber, onlyAt name: InodeName) throws(StoreError) -> Bool {
    try writer.withLock { (writer) throws(StoreError) in
      let rows = writer.loan.rows
      return try accessing { try rows.has(number, onlyAt: name) }
    }
  }

  /// Changes the times of an inode of the prepared tree, if it has a row. A head must be prepared. If it throws, the
  /// transaction is rolled back.
  func changeTimes(
    of number: InodeNumber, _ body: (inout InodeRecord) -> Void
  ) throws(StoreError) {
    try changing {
      try writer.withLock { writer in
        let rows = writer.loan.rows
        guard let old = try rows.inode(number)?.inode.record else { return }
        var record = old
        body(&record)
        if record != old { try rows.update(record, of: number, from: old) }
      }
    }
  }
}

/// The rows of the writing connection, with its open transaction.
private final class PreparedTree: RowBase {
  private let tree: RecordedTree
  init(_ tree: RecordedTree) { self.tree = tree }
  var batch: UInt64 { tree.batch }

  func read<Result: Sendable>(_ body: (TreeRows) throws -> Result) throws(StoreError) -> Result {
    try tree.writer.withLock { (writer) throws(StoreError) in
      let rows = writer.loan.rows
      return try accessing { try body(rows) }
    }
  }
}
