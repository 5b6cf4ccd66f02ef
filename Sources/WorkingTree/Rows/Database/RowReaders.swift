import LLVSCore
import SQLite
import Synchronization

/// The connections that read rows.
///
/// Each keeps its read transaction until the rows change, because beginning one takes four fcntl(2) calls, as long
/// as the rest of a look-up. No read is older than its call: a transaction is valid for the publication at which it
/// began.
///
/// - Concurrency: any thread. One thread has a connection at a time.
final class RowReaders: Sendable {
  private struct Idle {
    let loan: RecordedTree.Loan
    /// The number of publications at which its transaction began; nil without one.
    let batch: UInt64?
  }

  private let path: String
  private let hashKey: UInt64
  // A leaf lock, held to take a connection and to return it.
  private let idle = Mutex<[Idle]>([])
  /// The most idle connections.
  private static let kept = 16
  init(path: String, hashKey: UInt64) { (self.path, self.hashKey) = (path, hashKey) }

  /// Runs `body` once, with rows that are not older than the call. `counter` counts publications twice, at the
  /// beginning and at the end of each. If it throws, the connection is closed.
  func read<Result>(
    _ counter: borrowing Atomic<UInt64>, _ body: (TreeRows) throws -> Result
  ) throws(StoreError) -> Result {
    let now = counter.load(ordering: .acquiring)
    let known = idle.withLock { $0.popLast() }
    let loan: RecordedTree.Loan
    if let known {
      loan = known.loan
    } else {
      loan = RecordedTree.Loan(rows: TreeRows(try TreeDatabase.reader(path), hashKey: hashKey))
    }
    var batch = known?.batch
    let result = try accessing {
      if batch != nil, batch != now { loan.rows.database.rollBack() }
      if batch == nil || batch != now {
        batch = nil
        // Its rows are those of its first statement, perhaps newer than `now`: then it is dropped early. During a
        // publication it would be dropped at once.
        if now.isMultiple(of: 2) {
          try loan.rows.database.prepared("BEGIN").run()
          batch = now
        }
      }
      return try body(loan.rows)
    }
    idle.withLock { if $0.count < Self.kept { $0.append(Idle(loan: loan, batch: batch)) } }
    return result
  }

  /// Ends idle transactions, so that the write-ahead log can be copied and restarted.
  func endTransactions() {
    let taken = idle.withLock { idle in
      defer { idle = [] }
      return idle
    }
    for one in taken where one.batch != nil { one.loan.rows.database.rollBack() }
    idle.withLock { idle in
      for one in taken where idle.count < Self.kept {
        idle.append(Idle(loan: one.loan, batch: nil))
      }
    }
  }
}
