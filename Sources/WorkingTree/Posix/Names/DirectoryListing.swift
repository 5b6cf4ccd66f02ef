package import Inodes
package import LLVSCore
import Platform
import Synchronization

/// A directory that is open for listing.
///
/// It keeps the cookies of the names that are pending in the directory, noted when a listing begins and when another
/// head came since: names that are recorded take no memory.
///
/// - Concurrency: any thread.
package final class DirectoryListing: Sendable {
  /// A pending name and its place in the listing.
  typealias PendingName = (cookie: EntryCookie, name: FileName)

  /// The names that were pending in the directory at one instant.
  struct PendingNames {
    /// The publication at which they were noted.
    let publication: UInt64
    /// The names, ascending by their cookies.
    let names: [PendingName]

    /// Returns the names behind a cookie, at most so many.
    func after(_ cookie: EntryCookie, atMost limit: Int) -> ArraySlice<PendingName> {
      names[names.partitioningIndex { $0.cookie > cookie }...].prefix(limit)
    }
  }

  /// The directory.
  package let directory: InodeNumber
  let pending = Mutex<PendingNames?>(nil)

  init(_ directory: InodeNumber) { self.directory = directory }
}

/// A name as a listing shows it.
package struct ListedName: Hashable, Sendable {
  /// The name.
  package var name: FileName
  /// Its place in the listing: the next names are asked for behind it.
  package var cookie: EntryCookie
  /// The inode.
  package var number: InodeNumber
  /// The kind of file.
  package var kind: EntryKind
}
