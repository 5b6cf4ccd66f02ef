package import LLVSCore

/// A node's attributes as stat(2) shows them.
package struct NodeStatus: Hashable, Sendable {
  /// st_ino.
  package var inode: UInt64
  /// What the kernel names the node by, in requests and when it forgets it.
  package var node: UInt64
  package var kind: EntryKind
  /// Permission bits, 0 to 0o7777.
  package var mode: UInt32
  package var links: UInt32
  package var uid: UInt32
  package var gid: UInt32
  package var device: Attributes.Device
  package var size: UInt64
  /// Bytes that take room: the size without holes.
  package var stored: UInt64
  package var mtime: Attributes.Time
  package var ctime: Attributes.Time
  package var atime: Attributes.Time

  package init(
    inode: UInt64, kind: EntryKind, mode: UInt32, links: UInt32, uid: UInt32, gid: UInt32,
    device: Attributes.Device = Attributes.Device(major: 0, minor: 0), size: UInt64,
    stored: UInt64? = nil, mtime: Attributes.Time, ctime: Attributes.Time, atime: Attributes.Time
  ) {
    self.inode = inode
    node = inode
    self.kind = kind
    self.mode = mode
    self.links = links
    self.uid = uid
    self.gid = gid
    self.device = device
    self.size = size
    self.stored = stored ?? size
    self.mtime = mtime
    self.ctime = ctime
    self.atime = atime
  }
}

/// What setattr asks for; nil leaves a field alone.
package struct StatusChange: Sendable {
  package var mode: UInt32?
  package var uid: UInt32?
  package var gid: UInt32?
  package var size: UInt64?
  package var mtime: Attributes.Time?
  package var atime: Attributes.Time?
  /// The mtime is the clock's, not one that somebody named (UTIME_NOW, touch).
  package var mtimeIsNow = false
  /// Set-id bits that the change takes from a file (``LiveTree/setIDsLost(_:keepsGroup:)``).
  package var lostSetIDs: UInt32 = 0
  /// Nothing is named, as by chown(2) of -1 and -1: the ctime moves.
  package var movesChangeTime = false

  /// Whether attributes are changed, at least the ctime, which no version has.
  var changesAttributes: Bool {
    mode ?? uid ?? gid != nil || mtime ?? atime != nil || lostSetIDs != 0 || movesChangeTime
  }

  package init() {}
}
