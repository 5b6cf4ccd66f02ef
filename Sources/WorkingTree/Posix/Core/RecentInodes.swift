import Inodes
import Synchronization

/// The recorded inodes that were read last, so that repeated opens need one look-up. Each number has one slot,
/// which it shares.
///
/// - Concurrency: any thread.
final class RecentInodes: Sendable {
  static let count: UInt64 = 4096

  /// An object, so that a look-up copies no more than the inode.
  private final class Known: Sendable {
    let publication: UInt64
    let inode: BaseInode

    init(_ inode: BaseInode, publication: UInt64) {
      self.publication = publication
      self.inode = inode
    }
  }

  // A leaf lock; empty before the first inode.
  private let slots = Mutex<[Known?]>([])

  /// Returns an inode as in a publication; nil if it must be read.
  func inode(_ number: InodeNumber, publication: UInt64) -> BaseInode? {
    slots.withLock { slots in
      guard !slots.isEmpty, let found = slots[Self.slot(of: number)],
        found.publication == publication, found.inode.number == number
      else { return nil }
      return found.inode
    }
  }

  /// Notes an inode of a publication; a newer one keeps the slot.
  func note(_ inode: BaseInode, publication: UInt64) {
    let slot = Self.slot(of: inode.number)
    slots.withLock { slots in
      if slots.isEmpty { slots = Array(repeating: nil, count: Int(Self.count)) }
      guard slots[slot]?.publication ?? 0 <= publication else { return }
      slots[slot] = Known(inode, publication: publication)
    }
  }

  private static func slot(of number: InodeNumber) -> Int {
    Int(truncatingIfNeeded: number.rawValue & (count - 1))
  }
}
