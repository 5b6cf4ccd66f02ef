import LLVSCore
import Synchronization

/// Which revision the names of hard links share in a version, for the files that were asked about last.
///
/// Each name of a file leads to the same answer, which takes a look at all of them.
final class LinkRevisions: Sendable {
  struct File: Hashable {
    /// The version's map.
    var root: MapRoot
    var link: [UInt8]
    /// The head that the live tree shows: another may bring names that were not known to be links.
    var head: VersionNumber?
  }

  private static let limit = 64

  // A leaf lock.
  private let known = Mutex<[File: [Entry]]>([:])

  /// One entry for each content that names of a file have, without a key, with the least revision of those;
  /// nil where it is not known.
  func contents(of file: File) -> [Entry]? { known.withLock { $0[file] } }

  func note(_ contents: [Entry], of file: File) {
    known.withLock { known in
      if known.count >= Self.limit { known = [:] }
      known[file] = contents
    }
  }
}
