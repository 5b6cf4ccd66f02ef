package import Inodes
package import LLVSCore
import Platform
import SQLite
import Synchronization
package import TreeNames

/// The tree of the head's map by inodes, in rows of tree.sqlite: the recorded tree.
///
/// It changes only when the head does: ``prepare(_:from:hints:numbers:now:uncommitted:)`` makes the new rows in an
/// open transaction, and ``publish()`` shows them at once. All but inode numbers and local times follows from the
/// head's map, so a file that is missing, damaged, or of another head is made again and nothing is lost.
///
/// INVARIANT I1: the rows equal what `TreeView` shows of the head's map: names, kinds, contents, attributes, keys.
///
/// - Concurrency: any thread reads; one thread at a time, as the caller ensures, prepares and publishes.
package final class RecordedTree: RowBase {
  /// A connection on its way between the pool and a thread; one thread has it at a time.
  struct Loan: @unchecked Sendable { let rows: TreeRows }

  /// The open transaction: the next state, and the source of numbers. Only the thread that prepared it uses it.
  struct Prepared: @unchecked Sendable {
    var state: RecordedState
    let numbers: NumberSource
  }

  struct Writer {
    var loan: Loan
    var state: RecordedState
    var prepared: Prepared?
  }

  package let path: String
  /// Returns the time at which a version came to the store.
  private let time: @Sendable (VersionNumber?) -> Attributes.Time
  let cookies: CookieHash
  let readers: RowReaders
  let writer: Mutex<Writer>
  private let batchCounter = Atomic<UInt64>(0)
  /// The frames of the write-ahead log from which ``shortenLog()`` copies it into the file.
  private static let longLog = 4096

  init(
    path: String, rows: TreeRows, state: RecordedState,
    time: @escaping @Sendable (VersionNumber?) -> Attributes.Time
  ) {
    self.path = path
    self.time = time
    cookies = CookieHash(key: state.hashKey)
    readers = RowReaders(path: path, hashKey: state.hashKey)
    writer = Mutex(Writer(loan: Loan(rows: rows), state: state))
  }

  package var state: RecordedState { writer.withLock { $0.state } }
  package var batch: UInt64 { batchCounter.load(ordering: .acquiring) }

  /// Returns the possible cookies of names, in the order of the names.
  /// - Complexity: O(log *n*) for each name.
  package func cookies(
    for names: [FileName], in directory: InodeNumber
  ) throws(StoreError) -> [CookieChoice] {
    try read { rows in try names.map { try rows.choice(for: $0, in: directory) } }
  }

  /// Reads rows that are not older than the call.
  func read<Result>(_ body: (TreeRows) throws -> Result) throws(StoreError) -> Result {
    try readers.read(batchCounter, body)
  }

  /// Makes the rows of a new head's tree, in O(*k* log *n*) for *k* paths that differ; ``publish()`` shows them.
  ///
  /// `before` is the shown tree, `now` the ctime of changes; `uncommitted` returns the time of a version that the
  /// store has not committed.
  ///
  /// - Returns: the inodes that changed names had, nil for none; no names of a head that has only what a cut took.
  /// - Throws: ``StoreError``; then the transaction is rolled back. After ``StoreError/rebuildable(_:)`` the file must be
  ///   made again.
  @discardableResult
  package func prepare(
    _ head: TreeHead, from before: TreeView, hints: NumberHints = NumberHints(),
    numbers: NumberSource, now: Attributes.Time,
    uncommitted: (VersionNumber) -> Attributes.Time? = { _ in nil }
  ) throws(StoreError) -> [InodeName: InodeNumber?] {
    let (loan, old) = writer.withLock { writer in
      writer.prepared = nil
      return (writer.loan, writer.state)
    }
    let rows = loan.rows
    // Without readers the transaction may restart the write-ahead log.
    readers.endTransactions()
    let (prepared, changedNames) = try accessing(rows.database) {
      try rows.database.prepared("BEGIN IMMEDIATE").run()
      try rows.knowGreatest()
      try rows.setRoot(head.root)
      var state = old
      (state.cut, state.version, state.root) = (head.cut, head.version, head.view.map.root)
      let changedNames = try withoutActuallyEscaping(uncommitted) { uncommitted in
        let advance = Advance(
          rows: rows, from: before, to: head.view, numbers: numbers, hints: hints, now: now
        ) { [time] number in
          number.flatMap(uncommitted) ?? time(number)
        }
        try advance.run()
        state.values += advance.values
        state.directories += advance.directories
        return advance.changedNames
      }
      guard UInt64(state.values) <= state.root.count else {
        throw StoreError.rebuildable("\(path) has more names than the map has values")
      }
      try rows.set(state)
      // A full disk fails now, not after the head is set.
      try rows.database.flushPages()
      return (Prepared(state: state, numbers: numbers), changedNames)
    }
    writer.withLock { $0.prepared = prepared }
    return changedNames
  }

  /// Shows the prepared rows; if it throws, the rows are as before.
  package func publish() throws(StoreError) {
    let (loan, prepared) = writer.withLock { ($0.loan, $0.prepared) }
    guard let prepared else { return }
    batchCounter.add(1, ordering: .acquiringAndReleasing)
    defer { batchCounter.add(1, ordering: .acquiringAndReleasing) }
    try changing { try loan.rows.database.prepared("COMMIT").run() }
    writer.withLock {
      $0.state = prepared.state
      $0.prepared = nil
    }
    readers.endTransactions()
  }

  /// Runs a change of the prepared rows, and drops them if it throws.
  func changing<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
    do throws(StoreError) {
      return try accessing(body)
    } catch {
      withdraw()
      throw error
    }
  }

  /// Drops the prepared rows.
  package func withdraw() {
    let loan = writer.withLock { writer in
      writer.prepared = nil
      return writer.loan
    }
    loan.rows.database.rollBack()
  }

  /// Brings all published rows to the disk, on any thread, also while rows are prepared; throws
  /// ``StoreError/system(_:)``.
  package func syncLog() throws(StoreError) {
    let log = path + "-wal"
    try accessing {
      // Its frames count by their checksums, so the file itself need not be written.
      guard try FileSystem.exists(log) else { return }
      try File.regular(log, .readWrite).syncData()
    }
  }

  /// Copies a long write-ahead log into the file.
  package func shortenLog() {
    let database = writer.withLock { $0.loan }.rows.database
    if database.logFrames >= Self.longLog { database.checkpoint() }
  }
}

/// A head's tree, its id, and the cut that sets it.
package struct TreeHead: Sendable {
  package var cut: Int64
  /// Nil for a store without versions.
  package var version: Version.ID?
  package var view: TreeView
  /// The root's attributes, which no map has; nil for those of the rows.
  package var root: Attributes?

  package init(cut: Int64, version: Version.ID?, view: TreeView, root: Attributes? = nil) {
    self.cut = cut
    self.version = version
    self.view = view
    self.root = root
  }
}

/// A base whose answers are rows of tree.sqlite.
protocol RowBase: Base {
  /// Reads rows of one instant.
  func read<Result: Sendable>(_ body: (TreeRows) throws -> Result) throws(StoreError) -> Result
}

extension RowBase {
  package func child(
    of directory: InodeNumber, named name: FileName
  ) throws(StoreError) -> BaseEntry? {
    try read { try $0.child(of: directory, named: name) }
  }

  package func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(StoreError) -> [BaseEntry] {
    try read { try $0.page(of: directory, after: cookie, limit: limit) }
  }

  package func count(of directory: InodeNumber, atMost limit: Int) throws(StoreError) -> Int {
    try read { try $0.count(of: directory, atMost: limit) }
  }

  package func inode(_ number: InodeNumber) throws(StoreError) -> BaseInode? {
    try read { try $0.inode(number)?.inode }
  }

  package func names(of number: InodeNumber) throws(StoreError) -> [InodeName] {
    try read { try $0.names(of: number) }
  }
}
