import Inodes
import LLVSCore
import Synchronization
import TreeNames

/// The recorded directories in which programs look up name after name. Each is read whole once: a row of a page
/// costs a fifth of a look-up, and a name that is not in the directory costs nothing.
///
/// - Concurrency: any thread.
final class RecentDirectories: Sendable {
  /// The most names in memory.
  static let mostNames = 16_384
  /// The names that are read for one look-up at most, so that few look-ups in a large directory stay cheap.
  static let share = 32
  private static let count: UInt64 = 256

  /// The names of a directory, and what each leads to.
  final class Listing: Sendable {
    fileprivate struct Entry {
      let cookie: EntryCookie
      let key: Key?
      let inode: RecentInodes.Known
    }

    fileprivate let entries: [FileName: Entry]

    init(_ page: [BaseEntry], of directory: InodeNumber, publication: UInt64) {
      entries = Dictionary(
        page.map {
          let inode = RecentInodes.Known(
            $0.inode, at: InodeName(directory: directory, name: $0.name), publication: publication)
          return ($0.name, Entry(cookie: $0.cookie, key: $0.key, inode: inode))
        }, uniquingKeysWith: { first, _ in first })
    }
  }

  enum Answer {
    /// The directory must be asked.
    case unknown
    case absent
    case entry(BaseEntry, RecentInodes.Known)
  }

  private struct Slot {
    var directory: InodeNumber
    var publication: UInt64
    var lookUps = 0
    var listing: Listing?
  }

  private struct State {
    /// Empty before the first directory. Each directory has one slot, which it shares.
    var slots: [Slot?] = []
    var names = 0
  }

  // A leaf lock.
  private let state = Mutex(State())

  func child(of directory: InodeNumber, named name: FileName, publication: UInt64) -> Answer {
    let listing = state.withLock { state -> Listing? in
      guard !state.slots.isEmpty, let slot = state.slots[Self.slot(of: directory)],
        slot.directory == directory, slot.publication == publication
      else { return nil }
      return slot.listing
    }
    guard let listing else { return .unknown }
    guard let entry = listing.entries[name] else { return .absent }
    return .entry(
      BaseEntry(name: name, cookie: entry.cookie, inode: entry.inode.inode, key: entry.key),
      entry.inode)
  }

  /// Counts a look-up that asked the directory. Returns the most names that the directory may have to be read whole
  /// now; nil if it is not time for that.
  func noteLookUp(in directory: InodeNumber, publication: UInt64) -> Int? {
    let lookUps = state.withLock { state -> Int in
      if state.slots.isEmpty { state.slots = Array(repeating: nil, count: Int(Self.count)) }
      let index = Self.slot(of: directory)
      if let slot = state.slots[index] {
        guard slot.publication <= publication else { return 0 }
        if slot.directory == directory, slot.publication == publication {
          state.slots[index]?.lookUps += 1
          return slot.lookUps + 1
        }
        state.names -= slot.listing?.entries.count ?? 0
      }
      state.slots[index] = Slot(directory: directory, publication: publication, lookUps: 1)
      return 1
    }
    // Four, sixteen and so on: a directory that is too large is counted a few times.
    guard lookUps >= 4, lookUps.nonzeroBitCount == 1, lookUps.trailingZeroBitCount.isMultiple(of: 2)
    else { return nil }
    let most = lookUps * Self.share
    return most <= Self.mostNames / 2 ? most : nil
  }

  /// Notes all names of a directory of a publication.
  func note(_ listing: Listing, of directory: InodeNumber, publication: UInt64) {
    state.withLock { state in
      let index = Self.slot(of: directory)
      guard var slot = state.slots[index], slot.directory == directory,
        slot.publication == publication, slot.listing == nil
      else { return }
      if state.names + listing.entries.count > Self.mostNames {
        state = State(slots: Array(repeating: nil, count: Int(Self.count)))
      }
      slot.listing = listing
      state.slots[index] = slot
      state.names += listing.entries.count
    }
  }

  private static func slot(of directory: InodeNumber) -> Int {
    Int(truncatingIfNeeded: directory.rawValue & (count - 1))
  }
}
