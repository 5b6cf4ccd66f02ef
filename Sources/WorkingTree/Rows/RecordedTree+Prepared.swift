package import Inodes
package import LLVSCore
import Synchronization

// The rows of a head that nobody else sees yet.

extension RecordedTree {
  /// The tree of the head that was prepared, before ``publish()`` shows it; without one, the tree that is shown.
  ///
  /// - Concurrency: any thread; calls wait for each other.
  package var prepared: any Base { PreparedTree(self) }

  /// The inodes whose records or names in the prepared tree differ, or may differ, from those in the tree that is shown;
  /// nil if they may be any.
  ///
  /// A head must have been prepared.
  package var changedNumbers: Set<InodeNumber>? {
    writer.withLock { $0.prepared == nil ? nil : $0.loan.rows.changed }
  }

  /// Gives what the prepared tree has under a number another one of the store, at all its names. What is in a
  /// directory stays in it.
  ///
  /// A head must have been prepared. Nothing happens if no name leads to the number.
  ///
  /// - Returns: the new number; nil if nothing happened.
  /// - Throws: ``BaseError``; then the rows are as before the head was prepared, and the transaction is gone.
  /// - Complexity: O(*m* log *n*) for *m* names of the inode, or names in the directory.
  @discardableResult
  package func renumber(_ number: InodeNumber) throws(BaseError) -> InodeNumber? {
    try renumber(number) { numbers throws(StoreError) in try numbers.number() }
  }

  /// Gives what the prepared tree has under a number another one that a journal knows it by, as
  /// ``renumber(_:)``. Nothing happens if the other number is in use.
  ///
  /// - Throws: ``BaseError``, as ``renumber(_:)``.
  package func renumber(_ number: InodeNumber, to known: InodeNumber) throws(BaseError) {
    guard known != .root, try prepared.inode(known) == nil else { return }
    try renumber(number) { _ in known }
  }

  @discardableResult
  private func renumber(
    _ number: InodeNumber, _ choose: (NumberSource) throws(StoreError) -> InodeNumber
  ) throws(BaseError) -> InodeNumber? {
    precondition(number != .root, "the root directory has one number")
    do throws(BaseError) {
      return try writer.withLock { (writer) throws(BaseError) in
        guard let prepared = writer.prepared else {
          preconditionFailure("a number is changed while a head is prepared")
        }
        let rows = writer.loan.rows
        return try accessing {
          guard let row = try rows.inode(number) else { return nil }
          let new = try choose(prepared.numbers)
          try rows.renumber(row, to: new)
          return new
        }
      }
    } catch {
      withdraw()
      throw error
    }
  }
}

extension RecordedTree {
  /// Lets an inode of the prepared tree show a ctime, if the recorded one is earlier. Nothing happens if it has no row.
  ///
  /// A head must have been prepared.
  ///
  /// - Throws: ``BaseError``; then the rows are as before the head was prepared, and the transaction is gone.
  package func raiseChangeTime(of number: InodeNumber, to time: Attributes.Time) throws(BaseError) {
    do throws(BaseError) {
      try writer.withLock { (writer) throws(BaseError) in
        let rows = writer.loan.rows
        try accessing {
          guard let old = try rows.inode(number)?.inode.record, old.changed < time else { return }
          var record = old
          record.changed = time
          try rows.update(record, of: number, from: old)
        }
      }
    } catch {
      withdraw()
      throw error
    }
  }
}

/// The rows as the connection that writes has them, its open transaction included.
private final class PreparedTree: Base {
  private let tree: RecordedTree

  init(_ tree: RecordedTree) { self.tree = tree }

  var batch: UInt64 { tree.batch }

  private func read<Result: Sendable>(
    _ body: (TreeRows) throws -> Result
  ) throws(BaseError) -> Result {
    try tree.writer.withLock { (writer) throws(BaseError) in
      let rows = writer.loan.rows
      return try accessing { try body(rows) }
    }
  }

  func child(of directory: InodeNumber, named name: FileName) throws(BaseError) -> BaseEntry? {
    try read { try $0.child(of: directory, named: name) }
  }

  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(BaseError) -> [BaseEntry] {
    try read { try $0.page(of: directory, after: cookie, limit: limit) }
  }

  func count(of directory: InodeNumber, atMost limit: Int) throws(BaseError) -> Int {
    try read { try $0.count(of: directory, atMost: limit) }
  }

  func inode(_ number: InodeNumber) throws(BaseError) -> BaseInode? {
    try read { try $0.inode(number)?.inode }
  }

  func names(of number: InodeNumber) throws(BaseError) -> [InodeName] {
    try read { try $0.names(of: number) }
  }
}
