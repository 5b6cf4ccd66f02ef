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

  /// The entries of a directory, by cookie, as the rows have them.
  final class Listing: Sendable {
    fileprivate let page: [BaseEntry]
    init(_ page: [BaseEntry]) { self.page = page }

    /// Returns the index of a name whose least cookie is `first`.
    fileprivate func index(of name: FileName, _ first: EntryCookie) -> Int? {
      page.withUnsafeBufferPointer { page in
        var (low, high) = (0, page.count)
        while low < high {
          let middle = (low + high) / 2
          if page[middle].cookie < first { low = middle + 1 } else { high = middle }
        }
        let last = CookieHash.last(of: first)
        while low < page.count, page[low].cookie <= last {
          if page[low].name == name { return low }
          low += 1
        }
        return nil
      }
    }
  }

  enum Answer {
    /// The directory must be asked.
    case unknown
    case absent
    case entry(Found)
  }

  /// An entry of a listing.
  struct Found {
    fileprivate let listing: Listing
    fileprivate let index: Int
    var entry: BaseEntry { listing.page[index] }
    var number: InodeNumber { listing.page[index].inode.number }
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
        names -= slot.listing?.page.count ?? 0
      }
      slots[index] = Slot(directory: directory, publication: publication)
      return index
    }
  }

  private let cookies: CookieHash
  // A leaf lock.
  private let state = Mutex(State())

  /// Creates an empty one; `cookies` gives the rows' cookies.
  init(_ cookies: CookieHash) { self.cookies = cookies }

  func child(of directory: InodeNumber, named name: FileName, publication: UInt64) -> Answer {
    let listing = state.withLock { state -> Listing? in
      guard !state.slots.isEmpty, let slot = state.slots[Self.slot(of: directory)],
        slot.directory == directory, slot.publication == publication
      else { return nil }
      return slot.listing
    }
    guard let listing else { return .unknown }
    guard let index = listing.index(of: name, cookies.first(of: name)) else { return .absent }
    return .entry(Found(listing: listing, index: index))
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
      if state.names + listing.page.count > Self.mostNames { state = State() }
      guard let index = state.slot(for: directory, publication),
        state.slots[index]?.listing == nil
      else { return }
      state.slots[index]?.listing = listing
      state.names += listing.page.count
    }
  }

  private static func slot(of directory: InodeNumber) -> Int {
    Int(truncatingIfNeeded: directory.rawValue & (count - 1))
  }
}
