import Inodes
import Synchronization

/// The recorded inodes that were read last, so that repeated opens need one look-up. Each number has one slot,
/// which it shares.
///
/// - Concurrency: any thread.
final class RecentInodes: Sendable {
  static let count: UInt64 = 4096

  /// An object, so that a look-up copies no more than the inode.
  final class Known: Sendable {
    let publication: UInt64
    let inode: BaseInode
    /// Its only name; nil if there may be another.
    let name: InodeName?

    /// Creates that of an inode that was read by a name, or by its number.
    init(_ inode: BaseInode, at name: InodeName? = nil, publication: UInt64) {
      self.publication = publication
      self.inode = inode
      self.name = inode.record.isDirectory || inode.links == 1 ? name : nil
    }
  }

  // A leaf lock; empty before the first inode.
  private let slots = Mutex<[Known?]>([])

  /// Returns an inode as in a publication; nil if it must be read.
  func inode(_ number: InodeNumber, publication: UInt64) -> BaseInode? {
    known(number, publication: publication)?.inode
  }

  /// Returns the only name of an inode in a publication; nil if names must be read.
  func name(of number: InodeNumber, publication: UInt64) -> InodeName? {
    known(number, publication: publication)?.name
  }

  /// Returns what is known of an inode in a publication.
  func known(_ number: InodeNumber, publication: UInt64) -> Known? {
    slots.withLock { slots in
      guard !slots.isEmpty, let found = slots[Self.slot(of: number)],
        found.publication == publication, found.inode.number == number
      else { return nil }
      return found
    }
  }

  /// Notes an inode of a publication; a newer one keeps the slot.
  func note(_ inode: BaseInode, publication: UInt64) {
    note(Known(inode, publication: publication))
  }

  func note(_ known: Known) {
    let slot = Self.slot(of: known.inode.number)
    slots.withLock { slots in
      if slots.isEmpty { slots = Array(repeating: nil, count: Int(Self.count)) }
      if let old = slots[slot] {
        guard old.publication <= known.publication else { return }
        // The same inode may have been read by its name.
        guard
          old.publication < known.publication || old.inode.number != known.inode.number
            || known.name != nil
        else { return }
      }
      slots[slot] = known
    }
  }

  private static func slot(of number: InodeNumber) -> Int {
    Int(truncatingIfNeeded: number.rawValue & (count - 1))
  }
}
