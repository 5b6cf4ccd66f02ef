package import Inodes
package import LLVSCore

/// A change of the working tree, as it is applied and as the journal keeps it. It names all inodes that it
/// concerns, so applying it reads nothing; ``Operation/node(_:_:)`` has made those of the recorded tree known.
package struct Change: Equatable, Sendable {
  package var time: Attributes.Time
  /// 0 if unknown.
  package var process: Int32
  package var operation: Operation

  package init(time: Attributes.Time, process: Int32 = 0, _ operation: Operation) {
    self.time = time
    self.process = process
    self.operation = operation
  }

  /// `seen` is the epoch that the writer had seen, if a head changed the name since. Large cases are indirect,
  /// because each is copied some ten times on the way to the journal and the overlay.
  package enum Operation: Equatable, Sendable {
    /// An inode of the recorded tree that later changes concern.
    indirect case node(InodeNumber, PendingNode)
    /// `isSaved` if the next version takes the file unchanged.
    indirect case create(
      InodeNumber, at: InodeName, kind: EntryKind, attributes: Attributes, content: FileContent,
      isSaved: Bool, seen: Epoch?)
    indirect case write(InodeNumber, Extent, WriteFlags, seen: Epoch?)
    indirect case resize(InodeNumber, to: UInt64, WriteFlags, seen: Epoch?)
    /// A range of a file that reads as zeros.
    indirect case punch(InodeNumber, Range<UInt64>, WriteFlags, seen: Epoch?)
    /// The content of the file is saved; a save that `isFirm` counts whatever is written afterwards.
    case save(InodeNumber, isFirm: Bool = false)
    /// `lacksExtended` leaves the long extended ones unchanged; `setsTime` if utimensat(2) gave the mtime.
    indirect case attributes(
      InodeNumber, Attributes, lacksExtended: Bool = false, setsTime: Bool = false)
    /// A further name of a file, and the link id that all its names carry.
    indirect case link(InodeNumber, at: InodeName, id: [UInt8], seen: Epoch?)
    /// The name of a file goes away; `isKept` while a handle holds the file.
    case unlink(InodeName, of: InodeNumber, isKept: Bool, by: Remover = .other)
    case rmdir(InodeName, of: InodeNumber)
    /// A name goes to another place, over what was there; `isKept` while a handle holds that.
    indirect case rename(
      InodeNumber, from: InodeName, to: InodeName, over: InodeNumber?, isKept: Bool,
      by: Remover = .other, seen: Epoch?)
    indirect case exchange(
      InodeNumber, at: InodeName, with: InodeNumber, otherAt: InodeName, seen: Epoch? = nil,
      otherSeen: Epoch? = nil)
    /// The last handle of a file was closed.
    case release(InodeNumber)
  }

  /// What a process that removes or moves a name had seen there.
  package enum Remover: UInt8, Sendable {
    case other
    /// It had opened the file.
    case reader
    /// A head changed the name since it opened the file.
    case behind
  }

  package struct WriteFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The handle appends, or opened the file without creating or emptying it.
    package static let steady = WriteFlags(rawValue: 1)
    package static let mapped = WriteFlags(rawValue: 2)

    /// Faster than from a list of flags, whose type is not known there.
    package init(isSteady: Bool, isMapped: Bool) {
      rawValue = (isSteady ? 1 : 0) | (isMapped ? 2 : 0)
    }
  }
}
