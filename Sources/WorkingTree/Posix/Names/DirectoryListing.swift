package import Inodes
package import LLVSCore
import Platform
import Synchronization

/// A directory that is open for listing. It keeps only the cookies of pending names, noted when a listing begins
/// and again after another head.
///
/// - Concurrency: any thread.
package final class DirectoryListing: Sendable {
  typealias PendingName = (cookie: EntryCookie, name: FileName)

  struct PendingNames {
    let publication: UInt64
    /// The names, in the order of their cookies.
    let names: [PendingName]

    func after(_ cookie: EntryCookie, atMost limit: Int) -> ArraySlice<PendingName> {
      names[names.partitioningIndex { $0.cookie > cookie }...].prefix(limit)
    }
  }

  package let directory: InodeNumber
  let pending = Mutex<PendingNames?>(nil)
  init(_ directory: InodeNumber) { self.directory = directory }
}

package struct ListedName: Hashable, Sendable {
  package var name: FileName
  /// Its place in the listing, behind which the next names are.
  package var cookie: EntryCookie
  package var number: InodeNumber
  package var kind: EntryKind
}
