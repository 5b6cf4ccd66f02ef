/// The state that the records of a journal make.
struct JournalReplay {
  /// A run of bytes, and the offset of the record that names it.
  struct Run {
    var source: UInt32
    var sum: BytesSum
    var at: UInt64
    /// True for bytes in the journal file that are damaged.
    var isBad = false
  }

  private let lastCut: UInt64
  private let rowsCut: UInt64
  private(set) var overlay = Overlay()
  private(set) var epochs: [Epoch: UInt32] = [:]
  /// The cut that the store has and that was not settled.
  private(set) var unsettled: TakingRecord?
  /// The overlay at the instant of the current cut, as far as it is known.
  private(set) var frozen: Overlay?
  /// The settled cuts that the rows lack, in their order.
  private(set) var settled: [SettledCut] = []
  /// The version that the tree showed at the current cut's instant.
  private var before: UInt32?
  private(set) var count = 0
  private(set) var runs: [Run] = []
  private(set) var reach = DataReach()
  private(set) var syncedEnd: UInt64 = 0
  /// The greatest settled cut that the store lacks.
  private(set) var foreignCut: UInt64?

  /// `rowsCut` is the cut of the rows on the disk.
  init(lastCut: UInt64, rowsCut: UInt64 = .max) {
    (self.lastCut, self.rowsCut) = (lastCut, rowsCut)
  }

  mutating func take(_ run: Run) { runs.append(run) }

  mutating func take(_ record: JournalRecord, at offset: UInt64) {
    count += 1
    reach.add(record)
    switch record {
    case .change(let change): overlay.apply(change)
    case .changes(let changes): for change in changes { overlay.apply(change) }
    case .image(let epoch, let stamp, let isCutting):
      // The first of two images is of the cut's instant.
      frozen = count > 1 ? overlay : nil
      overlay = Overlay(epoch: epoch)
      (overlay.stamp, overlay.isCutting) = (stamp, isCutting)
    case .node(let number, let node): overlay.load(number, node)
    case .name(let place, let change): overlay.setChange(change, at: place)
    case .epoch(let epoch, let version): epochs[epoch] = version
    case .sums(let source, let sums):
      for sum in sums { runs.append(Run(source: source, sum: sum, at: offset)) }
    case .mark:
      _ = overlay.beginCut()
      frozen = overlay
      unsettled = nil
    case .taking(let record):
      // The changes of a cut that the store lacks are still pending.
      unsettled = record.cut <= lastCut ? record : nil
      before = epochs[overlay.epoch]
      // Earlier programs renewed the journal without the overlay of the instant.
      frozen = frozen ?? overlay
    case .settled(let cut, let isCommitted, let edits):
      let taken = unsettled.flatMap { record in frozen.map { (record, $0) } }
      (unsettled, frozen) = (nil, nil)
      if isCommitted, cut > lastCut {
        // The store is older: what later cuts took is pending again.
        foreignCut = cut
        edits.skip(in: &overlay)
      } else {
        overlay.apply(edits)
      }
      if isCommitted, cut > rowsCut, let (record, frozen) = taken, let before,
        let after = epochs[overlay.epoch]
      {
        settled.append(SettledCut(record: record, frozen: frozen, before: before, after: after))
      }
    case .synced(let end): syncedEnd = max(syncedEnd, end)
    }
  }
}
