import Inodes
import Synchronization

/// The recorded inodes that were read last: a file that is opened again and again is looked up in the rows once.
///
/// Each number has one slot, which it shares with others; the inode that was read last is in it.
///
/// - Concurrency: any thread.
final class RecentInodes: Sendable {
  /// A power of two.
  static let count: UInt64 = 4096

  private struct Slot {
    /// The publication of which the inode is.
    var publication: UInt64
    var inode: BaseInode
  }

  // A leaf lock. There are no slots before the first inode.
  private let slots = Mutex<[Slot?]>([])

  /// Returns an inode as the rows of a publication have it; nil if it has to be read.
  func inode(_ number: InodeNumber, publication: UInt64) -> BaseInode? {
    slots.withLock { slots in
      guard !slots.isEmpty, let found = slots[Self.slot(of: number)],
        found.publication == publication, found.inode.number == number
      else { return nil }
      return found.inode
    }
  }

  /// Notes an inode that was read of the rows of a publication; it takes the slot unless a newer one has it.
  func note(_ inode: BaseInode, publication: UInt64) {
    let slot = Self.slot(of: inode.number)
    slots.withLock { slots in
      if slots.isEmpty { slots = Array(repeating: nil, count: Int(Self.count)) }
      guard slots[slot]?.publication ?? 0 <= publication else { return }
      slots[slot] = Slot(publication: publication, inode: inode)
    }
  }

  private static func slot(of number: InodeNumber) -> Int {
    Int(truncatingIfNeeded: number.rawValue & (count - 1))
  }
}
