import LLVSCore
import Synchronization

/// The revision that the names of a file with hard links share in a version, for recently used
/// files.
///
/// All names of a file have the same answer, and finding it takes a look at all of them.
final class LinkRevisions: Sendable {
  struct File: Hashable {
    /// The version's map.
    var root: MapRoot
    var link: [UInt8]
    /// The head that the working tree shows: a later one may add names of the file.
    var head: VersionNumber?
  }

  private static let limit = 64

  // A leaf lock.
  private let known = Mutex<[File: [Entry]]>([:])

  /// Returns one entry for each content that names of the file have, without a key and with the
  /// least revision among those names; nil if it is not known.
  func contents(of file: File) -> [Entry]? { known.withLock { $0[file] } }

  func add(_ contents: [Entry], of file: File) {
    known.withLock { known in
      if known.count >= Self.limit { known = [:] }
      known[file] = contents
    }
  }
}
