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

  private struct State {
    /// The publication of which all slots are.
    var publication: UInt64 = 0
    var slots: [BaseInode?] = []
  }

  // A leaf lock.
  private let state = Mutex(State())

  /// Returns an inode as the rows of a publication have it; nil if it has to be read.
  func inode(_ number: InodeNumber, publication: UInt64) -> BaseInode? {
    state.withLock { state in
      guard state.publication == publication, !state.slots.isEmpty,
        let found = state.slots[Self.slot(of: number)], found.number == number
      else { return nil }
      return found
    }
  }

  /// Notes an inode that was read of the rows of a publication; that of an older one is not kept.
  func note(_ inode: BaseInode, publication: UInt64) {
    state.withLock { state in
      guard state.publication <= publication else { return }
      if state.publication < publication || state.slots.isEmpty {
        state.publication = publication
        state.slots = Array(repeating: nil, count: Int(Self.count))
      }
      state.slots[Self.slot(of: inode.number)] = inode
    }
  }

  private static func slot(of number: InodeNumber) -> Int {
    Int(truncatingIfNeeded: number.rawValue & (count - 1))
  }
}
