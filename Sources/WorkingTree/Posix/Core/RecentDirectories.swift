import Inodes
import LLVSCore
import Synchronization
import TreeNames

/// The recorded directories that were read whole, because programs list them or look up name after name in them: a
/// row of a page costs a fifth of a look-up, and a name that is not in the directory costs nothing.
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

    fileprivate let count: Int
    private let directory: InodeNumber
    private let publication: UInt64
    /// Made of the page at the first look-up, because many directories are only listed.
    private let state: Mutex<(page: [BaseEntry], entries: [FileName: Entry]?)>

    init(_ page: [BaseEntry], of directory: InodeNumber, publication: UInt64) {
      count = page.count
      self.directory = directory
      self.publication = publication
      state = Mutex((page, nil))
    }

    fileprivate func entry(_ name: FileName) -> Entry? {
      state.withLock { state in
        if let entries = state.entries { return entries[name] }
        let entries = Dictionary(
          state.page.map {
            let inode = RecentInodes.Known(
              $0.inode, at: InodeName(directory: directory, name: $0.name),
              publication: publication)
            return ($0.name, Entry(cookie: $0.cookie, key: $0.key, inode: inode))
          }, uniquingKeysWith: { first, _ in first })
        state = ([], entries)
        return entries[name]
      }
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

    /// Returns the place of a directory's slot, which is empty if it was that of another; nil if it is of a later
    /// publication.
    mutating func slot(for directory: InodeNumber, _ publication: UInt64) -> Int? {
      if slots.isEmpty { slots = Array(repeating: nil, count: Int(RecentDirectories.count)) }
      let index = RecentDirectories.slot(of: directory)
      if let slot = slots[index] {
        guard slot.publication <= publication else { return nil }
        if slot.directory == directory, slot.publication == publication { return index }
        names -= slot.listing?.count ?? 0
      }
      slots[index] = Slot(directory: directory, publication: publication)
      return index
    }
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
    guard let entry = listing.entry(name) else { return .absent }
    return .entry(
      BaseEntry(name: name, cookie: entry.cookie, inode: entry.inode.inode, key: entry.key),
      entry.inode)
  }

  /// Counts a look-up that asked the directory. Returns the most names that the directory may have to be read whole
  /// now; nil if it is not time for that.
  func noteLookUp(in directory: InodeNumber, publication: UInt64) -> Int? {
    let lookUps = state.withLock { state -> Int in
      guard let index = state.slot(for: directory, publication) else { return 0 }
      state.slots[index]?.lookUps += 1
      return state.slots[index]?.lookUps ?? 0
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
      if state.names + listing.count > Self.mostNames { state = State() }
      guard let index = state.slot(for: directory, publication),
        state.slots[index]?.listing == nil
      else { return }
      state.slots[index]?.listing = listing
      state.names += listing.count
    }
  }

  private static func slot(of directory: InodeNumber) -> Int {
    Int(truncatingIfNeeded: directory.rawValue & (count - 1))
  }
}
