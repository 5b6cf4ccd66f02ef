import Inodes
import Synchronization

/// The directories whose listings the kernel is filling its cache from.
///
/// The kernel compares a cached listing with its directory only where a listing begins. Two open listings of one
/// directory could therefore mix names from before a change with names from after it, and one that another
/// finished would be read from its middle without a look at its age. So one listing of a directory is cached at a
/// time, and the others are answered here.
///
/// - Concurrency: any thread.
final class CachedListings: Sendable {
  /// True for a directory of which the kernel dropped the cached names since the listing was opened.
  private let open = Mutex<[InodeNumber: Bool]>([:])

  /// Returns whether the kernel may cache a listing that a program opens; then ``end(of:)`` must follow.
  func begin(of directory: InodeNumber) -> Bool {
    open.withLock { open in
      guard open[directory] == nil else { return false }
      open[directory] = false
      return true
    }
  }

  /// Notes that the kernel is about to drop the cached names of a directory: names on their way to the cache are old.
  func noteDropped(_ directory: InodeNumber) {
    open.withLock { open in
      if open[directory] != nil { open[directory] = true }
    }
  }

  /// True if names that the kernel cached with the open listing may be older than its last notice.
  func isOvertaken(_ directory: InodeNumber) -> Bool { open.withLock { $0[directory] == true } }

  func end(of directory: InodeNumber) { open.withLock { $0[directory] = nil } }
}
