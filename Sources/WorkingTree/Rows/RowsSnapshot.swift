package import LLVSCore
import SQLite
import Synchronization

/// The rows at one instant, read through a connection of its own while others write.
///
/// - Concurrency: any thread; calls wait for each other.
package final class RowsSnapshot: RowBase {
  package let state: RecordedState
  private let loan: Mutex<RecordedTree.Loan>
  /// The copy that is read; nil for the file itself.
  private let copy: ReadableCopy?

  /// Opens the rows in a store's directory, in O(1), or O(bytes of the file) for a copy. A copy avoids all writes:
  /// SQLite's locks are files, and the last close of a database empties its log. Throws ``StoreError/rebuildable(_:)``
  /// for a file without rows.
  package init(in directory: String, isCopied: Bool) throws(StoreError) {
    let name = "tree.sqlite"
    let copy = try accessing {
      isCopied ? try ReadableCopy(of: directory, [name, name + "-wal"]) : nil
    }
    let database = try TreeDatabase.reader("\(copy?.path ?? directory)/\(name)")
    let found = try accessing {
      try database.prepared("BEGIN").run()
      return try TreeRows.state(database)
    }
    guard let found else { throw .rebuildable("\(directory)/\(name) has no rows") }
    state = found
    loan = Mutex(RecordedTree.Loan(rows: TreeRows(database, hashKey: found.hashKey)))
    self.copy = copy
  }

  func read<Result: Sendable>(_ body: (TreeRows) throws -> Result) throws(StoreError) -> Result {
    try loan.withLock { (loan) throws(StoreError) in
      let rows = loan.rows
      return try accessing { try body(rows) }
    }
  }

  package var batch: UInt64 { 0 }
}
