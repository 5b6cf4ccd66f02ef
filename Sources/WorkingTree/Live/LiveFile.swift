import Inodes
import LLVSCore

// Everything here is guarded by `LiveTree.lock`; the classes are shared between threads only through it.

/// A saved state of a file: what a version may take.
final class SavedState {
  var content: FileContent
  /// The mtime at the save; changed by a later utimensat(2) while no further byte was written.
  var mtime: Attributes.Time?
  var explicitTime: Bool
  let time: Attributes.Time
  /// When it was saved, on the monotonic clock.
  let tick: UInt64
  /// When the next write came; a save counts for a cut only if that took `settle`.
  var brokenTick: UInt64?
  /// Saved by fsync(2), which says more than that a descriptor was closed: a database orders its files by
  /// it, so it counts whatever follows.
  var isSynced = false
  /// A cut could not read its bytes: they rotted, and no version takes it.
  var isUnreadable = false
  /// A cut could not read the bytes from the disk, once.
  var hasFailed = false
  /// The bytes of a log or a database, which an overdue cut takes as they stand.
  var isSteady = false
  /// The epoch that the writer had last seen.
  var epoch: UInt64
  /// The epoch of who has seen this state once a cut took it: that of the version it went into.
  var takenIn: UInt64?
  /// Who saved it, where it is remembered what the process had read there.
  var readers: [ReaderMemory.Place] = []

  init(
    content: FileContent, mtime: Attributes.Time?, explicitTime: Bool, time: Attributes.Time,
    tick: UInt64, epoch: UInt64
  ) {
    self.content = content
    self.mtime = mtime
    self.explicitTime = explicitTime
    self.time = time
    self.tick = tick
    self.epoch = epoch
  }
}

/// The pending side of a regular file or symbolic link.
final class LiveFile {
  var content: FileContent
  /// Bytes or a size that no save covers.
  var unsaved = false
  /// Made here, and never saved: versions do not know it.
  var neverSaved = false
  /// Every unsaved write came through a handle that appends or neither made nor emptied the file.
  var steady = true
  /// The oldest epoch that a writer of the unsaved bytes had seen.
  var writerEpoch: UInt64 = 0
  /// When the last byte was written, on the monotonic clock.
  var lastWriteTick: UInt64 = 0
  /// The mtime that the unsaved bytes gave the file was set by utimensat(2).
  var explicitTime = false
  /// Unsaved bytes came from a mapping, so any writable handle's close saves them.
  var mapped = false
  /// The newest save.
  var saved: SavedState?
  /// The newest save that was followed by `settle` without a write, if ``saved`` is newer.
  var counted: SavedState?

  init(content: FileContent) {
    self.content = content
  }
}
