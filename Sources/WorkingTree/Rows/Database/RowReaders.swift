import Inodes
import SQLite
import Synchronization

/// The connections through which rows are read.
///
/// Each keeps its read transaction open until the rows change: to begin one takes SQLite four fcntl(2) calls, as
/// long as the rest of a look-up. What is read is never older than the call: a transaction counts for the number
/// of publications that it began at.
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
  // A leaf lock: it is held to take a connection and to give it back.
  private let idle = Mutex<[Idle]>([])

  /// Connections that are kept; others are closed after use.
  private static let kept = 16

  init(path: String, hashKey: UInt64) { (self.path, self.hashKey) = (path, hashKey) }

  /// Reads rows that are not older than the call.
  ///
  /// - Parameters:
  ///   - counter: counts the publications twice, at the beginning and at the end of each.
  ///   - body: runs once.
  /// - Returns: the result of `body`.
  /// - Throws: ``BaseError``; then the connection is closed.
  func read<Result>(
    _ counter: borrowing Atomic<UInt64>, _ body: (TreeRows) throws -> Result
  ) throws(BaseError) -> Result {
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
        // Its rows are those of its first statement, which may be newer than `now`: then it is given up too soon.
        // While rows are being published it would be given up at once.
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

  /// Ends the transactions of connections that nobody uses: the write-ahead log can be copied and restarted then.
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
