package import LLVSCore

/// The attributes that setattr sets; nil leaves a field unchanged.
package struct StatusChange: Hashable, Sendable {
  package var mode: UInt32?
  package var uid: UInt32?
  package var gid: UInt32?
  package var size: UInt64?
  package var mtime: Attributes.Time?
  package var atime: Attributes.Time?
  /// True if ``mtime`` is the clock's (UTIME_NOW).
  package var mtimeIsNow = false
  /// Set-id bits to remove from a file (``WorkingTree/setIDsLost(_:keepsGroup:)``).
  package var lostSetIDs: UInt32 = 0
  /// True if nothing is named, as by chown(2) of -1 and -1: only the ctime changes.
  package var movesChangeTime = false
  package init() {}

  /// True if attributes besides the size change, at least the ctime, which no version has.
  var changesAttributes: Bool {
    mode ?? uid ?? gid != nil || mtime ?? atime != nil || lostSetIDs != 0 || movesChangeTime
  }
}
