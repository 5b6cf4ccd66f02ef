package import Inodes
package import LLVSCore

/// One change of the working tree: what a program did, as it is applied and as the journal keeps it.
///
/// A change names all inodes that it concerns, so that applying it reads nothing. Inodes of the recorded tree
/// are made known by ``Operation/node(_:_:)`` first.
package struct Change: Hashable, Sendable {
  /// When it was made.
  package var time: Attributes.Time
  /// The process that made it; 0 where nobody knows.
  package var process: Int32
  /// The operation.
  package var operation: Operation

  package init(time: Attributes.Time, process: Int32 = 0, _ operation: Operation) {
    self.time = time
    self.process = process
    self.operation = operation
  }

  /// An operation of a program. `seen` is the epoch that the writer had seen, if a head has changed the name since.
  ///
  /// Operations that name many things are indirect: on the way to the journal and to the overlay each is copied some
  /// ten times.
  package enum Operation: Hashable, Sendable {
    /// An inode of the recorded tree that later changes concern, as it is shown.
    indirect case node(InodeNumber, PendingNode)
    /// A new file or directory; one that `isSaved` is taken by the next version as it is.
    indirect case create(
      InodeNumber, at: InodeName, kind: EntryKind, attributes: Attributes, content: FileContent,
      isSaved: Bool, seen: Epoch?)
    /// Bytes of a file.
    indirect case write(InodeNumber, Extent, WriteFlags, seen: Epoch?)
    /// A file's new size.
    indirect case resize(InodeNumber, to: UInt64, WriteFlags, seen: Epoch?)
    /// A range of a file that reads as zeros.
    indirect case punch(InodeNumber, Range<UInt64>, WriteFlags, seen: Epoch?)
    /// The content of the file is saved; a save that `isFirm` counts whatever is written afterwards.
    case save(InodeNumber, isFirm: Bool = false)
    /// New attributes; `lacksExtended` if the long extended ones are as they were and left out, `setsTime` if
    /// utimensat(2) gave the mtime, which may be the one that was shown before.
    indirect case attributes(
      InodeNumber, Attributes, lacksExtended: Bool = false, setsTime: Bool = false)
    /// A further name of a file, and the link id that all its names carry.
    indirect case link(InodeNumber, at: InodeName, id: [UInt8], seen: Epoch?)
    /// The name of a file goes away; `isKept` while a handle holds the file.
    case unlink(InodeName, of: InodeNumber, isKept: Bool)
    /// The name of an empty directory goes away.
    case rmdir(InodeName, of: InodeNumber)
    /// A name goes to another place, over what was there; `isKept` while a handle holds that.
    indirect case rename(
      InodeNumber, from: InodeName, to: InodeName, over: InodeNumber?, isKept: Bool, seen: Epoch?)
    /// Two names change places: each file goes to the other's.
    indirect case exchange(
      InodeNumber, at: InodeName, with: InodeNumber, otherAt: InodeName, seen: Epoch? = nil,
      otherSeen: Epoch? = nil)
    /// The last handle of a file was closed.
    case release(InodeNumber)
  }

  /// The flags of the handle that a write came through.
  package struct WriteFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The handle appends, or opened the file without creating or emptying it.
    package static let steady = WriteFlags(rawValue: 1)
    /// The bytes came from a mapping.
    package static let mapped = WriteFlags(rawValue: 2)

    /// Creates the flags of a write; faster than from a list of flags, of which the type is not known there.
    package init(isSteady: Bool, isMapped: Bool) {
      rawValue = (isSteady ? 1 : 0) | (isMapped ? 2 : 0)
    }
  }
}
