import CFuse3
import Glibc

/// A time as `struct timespec` holds it.
package struct FileTime: Hashable, Sendable {
  /// Seconds since 1970, or a difference of times.
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

/// The attributes of a node, as stat(2) shows them.
package struct FileAttributes: Hashable, Sendable {
  /// st_ino. The kernel does not use it to find the node: it uses ``NodeID``.
  package var inode: UInt64
  /// The file type bits and the permission bits.
  package var mode: UInt32
  /// The number of names.
  package var linkCount: UInt32 = 1
  /// The owner.
  package var uid: UInt32 = 0
  /// The group.
  package var gid: UInt32 = 0
  /// The number of a device node, as `makedev` packs it.
  package var device: UInt64 = 0
  /// The length in bytes.
  package var size: UInt64 = 0
  /// The space in use, in units of 512 bytes.
  package var blocks: UInt64 = 0
  /// The preferred size of reads and writes, in bytes.
  package var blockSize: UInt32 = 4096
  /// The time of the last access.
  package var accessed = FileTime()
  /// The time of the last change of the contents.
  package var modified = FileTime()
  /// The time of the last change of contents or attributes.
  package var changed = FileTime()

  /// Creates attributes; the caller sets those that differ from the defaults.
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

/// The answer to a look-up: the node, its attributes, and how long both stay valid.
package struct EntryAttributes: Hashable, Sendable {
  /// The node; 0 for a negative entry (LOOKUP) or an entry without attributes (READDIRPLUS).
  package var node: NodeID
  /// Tells two nodes apart that had the same number one after the other.
  package var generation: UInt64 = 0
  /// The node's attributes.
  package var attributes: FileAttributes
  /// Seconds for which the kernel may keep the name; ``forever`` if every change comes through the
  /// kernel or is notified.
  package var entryTimeout: Double
  /// Seconds for which the kernel may keep the attributes.
  package var attributeTimeout: Double

  /// A timeout that does not expire while the kernel runs.
  package static var forever: Double { 1e9 }

  /// Creates an answer; by default the kernel keeps it for ever.
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
