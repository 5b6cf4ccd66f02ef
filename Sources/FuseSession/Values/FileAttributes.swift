import CFuse3
import Glibc

package struct FileTime: Hashable, Sendable {
  /// Since 1970, or a difference.
  package var seconds: Int64
  package var nanoseconds: UInt32

  package init(seconds: Int64 = 0, nanoseconds: UInt32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  init(_ time: timespec) {
    self.init(
      seconds: Int64(time.tv_sec), nanoseconds: UInt32(truncatingIfNeeded: time.tv_nsec))
  }

  var timespec: Glibc.timespec { Glibc.timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds)) }
}

package struct FileAttributes: Hashable, Sendable {
  /// st_ino; the kernel does not find the node by it.
  package var inode: UInt64
  package var mode: UInt32
  package var linkCount: UInt32 = 1
  package var uid: UInt32 = 0
  package var gid: UInt32 = 0
  /// As `makedev` packs it.
  package var device: UInt64 = 0
  package var size: UInt64 = 0
  /// In units of 512 bytes.
  package var blocks: UInt64 = 0
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
    result.st_blksize = 4096
    result.st_atim = accessed.timespec
    result.st_mtim = modified.timespec
    result.st_ctim = changed.timespec
    return result
  }
}

/// The answer to a look-up.
package struct EntryAttributes: Hashable, Sendable {
  /// 0 for a negative entry (LOOKUP) or one without attributes (READDIRPLUS).
  package var node: NodeID
  package var attributes: FileAttributes
  /// Seconds for which the kernel may keep the name; ``forever`` if all changes go through the kernel or notify it.
  package var entryTimeout: Double
  package var attributeTimeout: Double
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

  /// "There is no such name", for `timeout` seconds.
  package static func absent(timeout: Double) -> EntryAttributes {
    EntryAttributes(
      node: NodeID(0), attributes: FileAttributes(inode: 0, mode: 0), entryTimeout: timeout,
      attributeTimeout: 0)
  }

  var parameters: fuse_entry_param {
    var result = fuse_entry_param()
    result.ino = node.rawValue
    result.attr = attributes.stat
    result.attr_timeout = attributeTimeout
    result.entry_timeout = entryTimeout
    return result
  }
}
