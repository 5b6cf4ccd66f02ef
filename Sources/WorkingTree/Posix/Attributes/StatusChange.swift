package import LLVSCore

/// The attributes that setattr gives; nil leaves a field alone.
package struct StatusChange: Hashable, Sendable {
  /// Permission bits.
  package var mode: UInt32?
  /// The owner.
  package var uid: UInt32?
  /// The group.
  package var gid: UInt32?
  /// Bytes.
  package var size: UInt64?
  /// The time of the last change of bytes.
  package var mtime: Attributes.Time?
  /// The time of the last reading.
  package var atime: Attributes.Time?
  /// True if ``mtime`` is the clock's, and not a time that somebody named (UTIME_NOW).
  package var mtimeIsNow = false
  /// Set-id bits that the change takes from a file (``WorkingTree/setIDsLost(_:keepsGroup:)``).
  package var lostSetIDs: UInt32 = 0
  /// True if nothing is named, as by chown(2) of -1 and -1: the ctime moves.
  package var movesChangeTime = false

  package init() {}

  /// True if attributes besides the size are changed, at least the ctime, which no version has.
  var changesAttributes: Bool {
    mode ?? uid ?? gid != nil || mtime ?? atime != nil || lostSetIDs != 0 || movesChangeTime
  }
}
