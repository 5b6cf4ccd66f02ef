import CFuse3
import Glibc

/// A time as `struct timespec` holds it.
package struct FileTime: Hashable, Sendable {
  package var seconds: Int64
  /// 0 to 999,999,999.
  package var nanoseconds: UInt32

  package init(seconds: Int64 = 0, nanoseconds: UInt32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  init(_ time: timespec) {
    self.init(
      seconds: Int64(time.tv_sec), nanoseconds: UInt32(truncatingIfNeeded: time.tv_nsec))
  }

  var timespec: Glibc.timespec {
    Glibc.timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
  }
}

/// What stat(2) shows of a node.
package struct FileAttributes: Hashable, Sendable {
  /// st_ino. Not used by the kernel to find the node: that is ``NodeID``.
  package var inode: UInt64
  /// The file type bits and the permission bits.
  package var mode: UInt32
  package var linkCount: UInt32 = 1
  package var uid: UInt32 = 0
  package var gid: UInt32 = 0
  /// The device that a device node stands for, as `makedev` packs it.
  package var device: UInt64 = 0
  package var size: UInt64 = 0
  /// In units of 512 bytes.
  package var blocks: UInt64 = 0
  package var blockSize: UInt32 = 4096
  package var accessed = FileTime()
  package var modified = FileTime()
  package var changed = FileTime()

  package init(inode: UInt64, mode: UInt32) {
    self.inode = inode
    self.mode = mode
  }

  var stat: Glibc.stat {
    var result = Glibc.stat()
    result.st_ino = UInt(inode)
    result.st_mode = mode
    result.st_nlink = UInt(linkCount)
    result.st_uid = uid
    result.st_gid = gid
    result.st_rdev = UInt(device)
    result.st_size = Int(clamping: size)
    result.st_blocks = Int(clamping: blocks)
    result.st_blksize = Int(blockSize)
    result.st_atim = accessed.timespec
    result.st_mtim = modified.timespec
    result.st_ctim = changed.timespec
    return result
  }
}

/// What a look-up tells the kernel: the node, what it looks like, and how long that holds.
package struct EntryAttributes: Hashable, Sendable {
  /// The node; 0 is a negative entry (LOOKUP) or an entry without attributes (READDIRPLUS).
  package var node: NodeID
  package var generation: UInt64 = 0
  package var attributes: FileAttributes
  /// Seconds for which the kernel may keep the name; ``forever`` where every change goes through us.
  package var entryTimeout: Double
  /// Seconds for which the kernel may keep the attributes.
  package var attributeTimeout: Double

  /// A timeout that does not end while the kernel runs.
  package static var forever: Double { 1e9 }

  package init(
    node: NodeID, attributes: FileAttributes, entryTimeout: Double = forever,
    attributeTimeout: Double = forever
  ) {
    self.node = node
    self.attributes = attributes
    self.entryTimeout = entryTimeout
    self.attributeTimeout = attributeTimeout
  }

  /// Returns the answer "there is no such name", which the kernel keeps for `timeout` seconds.
  package static func absent(timeout: Double) -> EntryAttributes {
    EntryAttributes(
      node: NodeID(0), attributes: FileAttributes(inode: 0, mode: 0), entryTimeout: timeout,
      attributeTimeout: 0)
  }

  var parameters: fuse_entry_param {
    var result = fuse_entry_param()
    result.ino = node.rawValue
    result.generation = generation
    result.attr = attributes.stat
    result.attr_timeout = attributeTimeout
    result.entry_timeout = entryTimeout
    return result
  }
}
