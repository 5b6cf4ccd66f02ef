import LLVSCore
import Synchronization

/// The shared revision of the hard links of a file in a version, for recently used files; finding it needs all of
/// them.
final class LinkRevisions: Sendable {
  struct File: Hashable {
    var root: MapRoot
    var link: [UInt8]
    /// The head that the working tree shows, because a later one may add names of the file.
    var head: VersionNumber?
  }

  private static let limit = 64

  // A leaf lock.
  private let known = Mutex<[File: [Entry]]>([:])

  /// Returns an entry without a key for each content that names of the file have, with their least revision.
  func contents(of file: File) -> [Entry]? { known.withLock { $0[file] } }

  func add(_ contents: [Entry], of file: File) {
    known.withLock { known in
      if known.count >= Self.limit { known = [:] }
      known[file] = contents
    }
  }
}
