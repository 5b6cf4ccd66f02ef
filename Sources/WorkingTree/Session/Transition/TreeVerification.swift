import Inodes
package import LLVSCore
import Platform
import TreeNames

/// Finds faults of a working tree: compares rows with their version's map, the journal's bytes with checksums,
/// inode numbers with the store's counter, and pending changes with the rows.
package struct TreeVerification {
  private let store: Store
  private var faults: [String] = []

  private init(_ store: Store) { self.store = store }

  /// The faults of an open tree, as sentences without periods. Programs wait only for a copy of the overlay.
  /// - Throws: ``StoreError/cancelled``, ``StoreError/busy(_:)`` if heads change too often, or an error of reading
  ///   the catalog.
  /// - Complexity: O(*n*) for *n* recorded names, and the pending bytes.
  package static func faults(
    of tree: WorkingTree, over recorded: RecordedTree, _ journal: Journal, in store: Store,
    isCancelled: () -> Bool
  ) throws(StoreError) -> [String] {
    var check = TreeVerification(store)
    do throws(StoreError) {
      let (rows, overlay) = try instant(of: tree, over: recorded, in: store)
      try check.checkNumbers(overlay, rows)
      try check.checkRows(rows, recorded.path)
      check.checkPending(overlay, over: rows)
    } catch { try check.note(error, of: recorded.path) }
    check.faults += try journal.byteFaults({ tree.pending }, isCancelled: isCancelled)
    return check.faults
  }

  private static let attempts = 100

  /// The rows and the overlay of one instant.
  private static func instant(
    of tree: WorkingTree, over recorded: RecordedTree, in store: Store
  ) throws(StoreError) -> (RowsSnapshot, Overlay) {
    for _ in 0..<attempts {
      let batch = recorded.batch
      if batch.isMultiple(of: 2) {
        let rows = try RowsSnapshot(in: store.path, isCopied: false)
        // Waits for the end of a publication whose rows are shown already.
        let overlay = tree.pending
        if recorded.batch == batch { return (rows, overlay) }
      }
      SystemClock.sleep(nanoseconds: 10_000_000)
    }
    throw .busy("versions are made too often for a check; try again")
  }

  /// The faults of a tree that no process has open, as sentences without periods. Changes nothing. Rows that are
  /// absent or of an earlier version are no fault, because opening the tree repairs them without a loss.
  /// - Throws: ``StoreError/cancelled``, or an error of reading the catalog or the journal.
  /// - Complexity: as ``faults(of:over:_:in:isCancelled:)``.
  package static func storedFaults(
    rows path: String, journal directory: String, bootID: [UInt8], in store: Store,
    isCancelled: () -> Bool
  ) throws(StoreError) -> [String] {
    var check = TreeVerification(store)
    let opened = try check.opened(directory, bootID)
    let recorded = opened?.overlay ?? Overlay()
    var overlay = recorded
    // The journal has no record of a program that closed a file without a name, and its bytes may be freed.
    overlay.dropOrphans()
    let exists = try StoreError.translating(try FileSystem.exists(path))
    do throws(StoreError) {
      let rows = exists ? try RowsSnapshot(in: store.path, isCopied: true) : nil
      try check.checkNumbers(recorded, rows)
      if let rows {
        try check.checkHead(of: rows, path)
        try check.checkRows(rows, path)
        if let opened, try check.isOver(rows, opened) { check.checkPending(overlay, over: rows) }
      }
    } catch { try check.note(error, of: path) }
    if let opened {
      check.faults += try opened.journal.byteFaults({ overlay }, isCancelled: isCancelled)
    }
    return check.faults
  }

  private mutating func opened(
    _ directory: String, _ bootID: [UInt8]
  ) throws(StoreError) -> OpenedJournal? {
    do throws(StoreError) {
      let opened = try Journal.read(
        directory, owner: JournalOwner(storeID: store.storeID, bootID: bootID),
        lastCut: try StoreCut.last(in: store))
      faults += opened?.recovery.losses ?? []
      return opened
    } catch {
      // The header's faults name these.
      switch error {
      case .corrupt, .invalid: return nil
      default: throw error
      }
    }
  }

  /// True if a journal without losses was written over the version of the rows.
  private func isOver(_ rows: RowsSnapshot, _ opened: OpenedJournal) throws(StoreError) -> Bool {
    guard opened.isReplayedAlike else { return false }
    let number = try store.version(rows.state.version)?.number.rawValue
    return opened.epochs.isEmpty
      ? opened.overlay.nodes.isEmpty : opened.epochs[opened.overlay.epoch] == number ?? 0
  }

  /// Checks that the rows of the last cut are the head's.
  private mutating func checkHead(of rows: RowsSnapshot, _ path: String) throws(StoreError) {
    let cut = try StoreCut.last(in: store)
    let head = try store.headRecord()
    guard rows.state.storeID == store.storeID
    else { return faults.append("\(path) is of another store; \(Self.madeAnew)") }
    if rows.state.cut == Int64(cut), rows.state.version != head?.id {
      faults.append("\(path) does not show the head; \(Self.madeAnew)")
    }
  }

  private static let madeAnew = "mounting the store makes it again from the head"

  private mutating func note(_ error: StoreError, of path: String) throws(StoreError) {
    guard case .rebuildable(let reason) = error else { throw error }
    faults.append("\(reason); \(Self.madeAnew)")
  }

  /// The map of the rows' version; nil if the store has no such version.
  private func map(of rows: RowsSnapshot) throws(StoreError) -> ValueMap? {
    guard let id = rows.state.version
    else { return rows.state.root == .empty ? store.map(.empty) : nil }
    return try store.version(id).flatMap { $0.map == rows.state.root ? store.map(of: $0) : nil }
  }

  private mutating func checkRows(_ rows: RowsSnapshot, _ path: String) throws(StoreError) {
    guard let map = try map(of: rows) else {
      return faults.append("\(path) shows a version that the store does not have; \(Self.madeAnew)")
    }
    let found = try rows.faults(comparedWith: TreeView(map: map))
    faults += found.map { "\(path) differs from its version at \($0)" }
    if !found.isEmpty {
      faults.append(
        "\(path) can be made again: unmount the store, remove the file, and mount the store")
    }
  }

  private mutating func checkNumbers(_ overlay: Overlay, _ rows: RowsSnapshot?) throws(StoreError) {
    // Read after the numbers, because programs may get more.
    let end = store.nextInode
    var paths =
      try rows?.pathsOfNumbers(from: end).map { (number, path) in
        (number, String(decoding: path.bytes, as: UTF8.self))
      } ?? []
    paths += overlay.nodes.keys.filter { $0.rawValue >= end || $0.rawValue == 0 }.sorted().map {
      ($0, overlay.title($0))
    }
    for (number, path) in paths {
      faults.append(
        "\(path): its inode number, \(number.rawValue), is not below the store's next one, \(end); "
          + (number < .limit
            ? "mounting the store raises that" : "mounting the store gives all files small numbers")
      )
    }
  }

  private mutating func checkPending(_ overlay: Overlay, over rows: RowsSnapshot) {
    do { try overlay.check(over: rows) } catch {
      faults.append(
        "pending changes do not fit the version below them: \(error); mounting the store again puts them over the head"
      )
    }
  }
}
