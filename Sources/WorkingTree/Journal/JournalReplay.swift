import Inodes
import LLVSCore

/// The state that the records of a journal make, one after the other.
struct JournalReplay {
  /// A run of bytes that a record names, and where that is in the journal.
  struct Run {
    var source: UInt32
    var sum: BytesSum
    var at: UInt64
    /// True for bytes in the journal file that were looked at and are not what was written.
    var isBad = false
  }

  /// The store's last cut.
  private let lastCut: UInt64

  private(set) var overlay = Overlay()
  private(set) var epochs: [Epoch: UInt32] = [:]
  /// The cut that the store has and that was not settled.
  private(set) var unsettled: TakingRecord?
  /// The overlay at the instant of the cut that is under way, as far as the journal has it.
  private(set) var frozen: Overlay?
  /// The number of records.
  private(set) var count = 0
  /// All runs of bytes that were staged.
  private(set) var runs: [Run] = []
  /// The ends of the bytes that the records refer to, by data file.
  private(set) var reach = DataReach()
  /// Everything before this is on the disk.
  private(set) var syncedEnd: UInt64 = 0
  /// The greatest cut of which the journal has dropped what it took, though the store has no such cut.
  private(set) var foreignCut: UInt64?

  init(lastCut: UInt64) { self.lastCut = lastCut }

  mutating func take(_ run: Run) { runs.append(run) }

  /// Takes over what a record says that is at an offset.
  mutating func take(_ record: JournalRecord, at offset: UInt64) {
    count += 1
    reach.add(record)
    switch record {
    case .change(let change): overlay.apply(change)
    case .changes(let changes): for change in changes { overlay.apply(change) }
    case .image(let epoch, let stamp, let isCutting):
      overlay = Overlay(epoch: epoch)
      frozen = nil
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
      // A cut that the store does not have is nothing: its changes are still pending.
      unsettled = record.cut <= lastCut ? record : nil
      // A renewal since the instant wrote the overlay as it was then.
      frozen = frozen ?? overlay
    case .settled(let cut, let isCommitted, let edits):
      (unsettled, frozen) = (nil, nil)
      if isCommitted, cut > lastCut {
        // The store is older: what later cuts took is pending again.
        foreignCut = cut
        overlay.skip(edits)
      } else {
        overlay.apply(edits)
      }
    case .synced(let end): syncedEnd = max(syncedEnd, end)
    }
  }
}
