import Inodes
import LLVSCore

/// One change of the live tree, as it is applied and as the journal keeps it.
///
/// Live operations check, build a change, apply and record it; replay reads it back and applies it by
/// the same code, so a tree after a crash is the tree before it. Inode numbers name nodes; a node of the
/// base is named by `bind` before anything else refers to it.
enum Change: Hashable, Sendable {
  /// What a write says of the handle it came through.
  struct WriteFlags: OptionSet, Hashable, Sendable {
    let rawValue: UInt8
    init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The handle appends, or opened the file without creating or truncating it.
    static let steady = WriteFlags(rawValue: 1)
    /// The bytes came from a mapping.
    static let mapped = WriteFlags(rawValue: 2)
    /// truncate(2) by path with nobody's bytes unsaved: saved at once.
    static let savedAtOnce = WriteFlags(rawValue: 4)
    /// Nothing without the record behind it, which came of the same call: replay takes both or neither.
    static let joined = WriteFlags(rawValue: 8)
  }

  /// A node of the base that later changes refer to: the child `name` of a directory.
  case bind(inode: UInt64, parent: UInt64, name: [UInt8])
  /// A new node under a name; `target` is a symbolic link's.
  case create(
    inode: UInt64, parent: UInt64, name: [UInt8], kind: EntryKind, attributes: Attributes,
    target: [UInt8], time: Attributes.Time, saved: Bool)
  /// Bytes of a file; `extent.source` is the data file, `checksum` XXH3-64 of the bytes.
  case write(
    inode: UInt64, extent: Extent, checksum: UInt64, time: Attributes.Time, epoch: UInt64,
    flags: WriteFlags)
  /// A file's new size.
  case resize(inode: UInt64, size: UInt64, time: Attributes.Time, epoch: UInt64, flags: WriteFlags)
  /// A range of a file that reads as zeros from here on.
  case punch(inode: UInt64, range: Range<UInt64>, time: Attributes.Time, epoch: UInt64)
  /// The file as it stands is saved.
  case save(inode: UInt64, time: Attributes.Time, epoch: UInt64)
  /// New attributes, or new ones besides the extended ones; `explicitTime` when utimensat(2) set the mtime.
  case setAttributes(
    inode: UInt64, attributes: Attributes, keepsExtended: Bool, time: Attributes.Time,
    explicitTime: Bool)
  /// A name goes from one place to another, over what stood there, or both change places, by somebody who
  /// had seen as much of the one as of the other.
  case rename(
    fromParent: UInt64, from: [UInt8], toParent: UInt64, to: [UInt8], exchange: Bool,
    time: Attributes.Time, epoch: UInt64)
  /// Two names change places; each has the epoch that was seen of what stood there.
  case exchange(
    fromParent: UInt64, from: [UInt8], toParent: UInt64, to: [UInt8], time: Attributes.Time,
    fromEpoch: UInt64, toEpoch: UInt64)
  /// A file gets one name more; `id` is the link id that all its names carry.
  case link(
    inode: UInt64, parent: UInt64, name: [UInt8], id: [UInt8], time: Attributes.Time,
    epoch: UInt64)
  /// A name goes away.
  case remove(parent: UInt64, name: [UInt8], time: Attributes.Time, epoch: UInt64)
  /// The instant of a cut.
  case cutMark(id: UInt64)
  /// From here on changes are made on this version (0: on an empty tree).
  case epoch(id: UInt64, predecessor: UInt32)
  /// Everything before this byte of the journal file, and what it refers to, is on the disk.
  case synced(end: UInt64)
  /// A node as a checkpoint keeps it.
  case node(NodeImage)
  /// What stands at a name differently from the base; `inode` 0 is a removed name.
  case override(parent: UInt64, name: [UInt8], inode: UInt64, epoch: UInt64, hidesBase: Bool)
  /// What bytes of a data file must be that a checkpoint refers to.
  case sums(source: UInt32, payloads: [Payload])
  /// A node whose name was given to another by a merge while it was open; `parent` and `successor` are 0
  /// where the merge took the name away, and `name` is its path then.
  case detached(inode: UInt64, parent: UInt64, name: [UInt8], successor: UInt64, epoch: UInt64)
}

/// A saved state of a file.
struct SavedImage: Hashable, Sendable {
  var content: FileContent
  var mtime: Attributes.Time?
  var explicitTime: Bool
  var time: Attributes.Time
  var epoch: UInt64
}

/// Where long extended attributes are that a record leaves out.
struct ExtendedPlace: Hashable, Sendable {
  /// That of the map.
  var root: MapRoot
  var key: [UInt8]
  var revision: UInt64
}

/// A node with all that is pending of it.
struct NodeImage: Hashable, Sendable {
  var inode: UInt64
  var kind: EntryKind
  var parent: UInt64
  var name: [UInt8]
  var attributes: Attributes
  var ctime: Attributes.Time
  /// The node's entry in the base, where it has one.
  var entry: EntryImage?
  var attributesChanged: Bool
  var explicitTime: Bool
  var isMoved: Bool
  var renewsInode: Bool
  /// A directory's place in the base; nil for one that is not in it.
  var basePath: [UInt8]?
  var content: FileContent?
  var unsaved: Bool
  var neverSaved: Bool
  var steady: Bool
  var writerEpoch: UInt64
  var saved: SavedImage?
  var counted: SavedImage?
  /// Where the extended attributes are that ``attributes`` is without.
  var extended: ExtendedPlace?
  /// The same of ``entry``.
  var baseExtended: ExtendedPlace?
}

extension Change {
  /// The time of day at which it happened, where it says so.
  var time: Attributes.Time? {
    switch self {
    case .create(_, _, _, _, _, _, let time, _): time
    case .write(_, _, _, let time, _, _): time
    case .resize(_, _, let time, _, _): time
    case .punch(_, _, let time, _): time
    case .save(_, let time, _): time
    case .setAttributes(_, _, _, let time, _): time
    case .rename(_, _, _, _, _, let time, _): time
    case .exchange(_, _, _, _, let time, _, _): time
    case .link(_, _, _, _, let time, _): time
    case .remove(_, _, let time, _): time
    case .bind, .cutMark, .epoch, .synced, .node, .override, .detached, .sums: nil
    }
  }
}
