import Inodes
package import LLVSCore

/// The pending changes that a journal of an earlier program holds: the checkpoint that it begins with.
///
/// A mount that ended by itself left nothing else: names that are ignored, files that were never saved, and changes
/// that could not be made a version.
package struct EarlierCheckpoint: Hashable, Sendable {
  /// The store's number of the version that the tree showed; 0 before the first one.
  package var head: UInt32 = 0
  /// The last cut that the checkpoint follows.
  package var cut: UInt64 = 0
  /// The id of the store; nil in a file that does not say.
  var storeID: [UInt8]?
  /// The attributes of the top directory, if they are pending.
  var root: Root?
  /// The first epochs that stand for other versions than those before, in order.
  var epochs: [Beginning] = []
  /// The files and directories, each before those in it.
  var nodes: [Node] = []
  /// The names that programs see in place of the version's.
  var names: [Name] = []
  /// The files without a name that somebody wrote to.
  var detached: [Detached] = []
  /// Checksums of bytes in data files.
  var sums: [SourceSums] = []

  struct Beginning: Hashable {
    var first: Epoch
    var version: UInt32
  }

  struct SourceSums: Hashable {
    var source: UInt32
    var sums: [BytesSum]
  }

  struct Root: Hashable {
    var attributes: Attributes
    var changed: Attributes.Time
    var hasSetTime: Bool
  }

  struct Name: Hashable {
    var place: InodeName
    /// Nil for a name that was removed.
    var inode: InodeNumber?
    var made: Epoch
  }

  struct Detached: Hashable {
    var inode: InodeNumber
    /// The directory of the name that it lost; nil where only the path is known.
    var directory: InodeNumber?
    /// The name, or the path.
    var name: [UInt8]
    var epoch: Epoch
  }

  /// The place of long extended attributes, which records leave out.
  package struct ExtendedPlace: Hashable, Sendable {
    /// The root of the map that has them.
    package var root: MapRoot
    /// The key there.
    package var key: [UInt8]
    /// True for a directory's.
    package var isDirectory = false
  }

  struct Node: Hashable {
    var number: InodeNumber
    var kind: EntryKind
    var attributes: Attributes
    var changed: Attributes.Time
    /// The bytes that a version has of it; nil for a new one.
    var stored: StoredContent?
    var hasNewAttributes: Bool
    var hasSetTime: Bool
    /// The path of a directory in the version; nil for a new one.
    var path: TreePath?
    /// The bytes; nil for those that are stored.
    var content: FileContent?
    var isUnsaved: Bool
    var isNeverSaved: Bool
    var isSteady: Bool
    /// The epoch that the writer had seen.
    var seen: Epoch?
    var saved: PendingFile.Save?
    var counted: PendingFile.Save?
    /// The place of the long extended attributes; nil if it has none.
    var extended: ExtendedPlace?
    /// True if the version has the same.
    var hasRecordedExtended = false
  }

  /// The number of the version that an epoch stands for; an epoch that is forgotten stands for the oldest known.
  func version(of epoch: Epoch) -> UInt32? {
    (epochs.last { $0.first <= epoch } ?? epochs.first)?.version
  }
}
