import CFuse3
import Glibc

/// The changes that a SETATTR demands; nil and false mean no change.
package struct SetAttributes: Hashable, Sendable {
  package enum Time: Hashable, Sendable {
    case now
    case at(FileTime)
  }

  /// Permission bits; file type bits are ignored.
  package var mode: UInt32?
  package var uid: UInt32?
  package var gid: UInt32?
  package var size: UInt64?
  package var accessed: Time?
  package var modified: Time?
  /// The owner changes, or a caller resizes the file that may not keep set-user-id and set-group-id bits.
  package var clearsSetIDs = false

  /// True for chown(2) of -1 and -1, which clears set-id bits like any other.
  package var namesNothing: Bool {
    mode ?? uid ?? gid == nil && size == nil && accessed == nil && modified == nil
  }

  init(_ attributes: stat, set: Int32) {
    if set & FUSE_SET_ATTR_MODE != 0 { mode = attributes.st_mode }
    if set & FUSE_SET_ATTR_UID != 0 { uid = attributes.st_uid }
    if set & FUSE_SET_ATTR_GID != 0 { gid = attributes.st_gid }
    // A negative size must not become a huge one.
    if set & FUSE_SET_ATTR_SIZE != 0 { size = UInt64(max(0, attributes.st_size)) }
    if set & FUSE_SET_ATTR_ATIME_NOW != 0 {
      accessed = .now
    } else if set & FUSE_SET_ATTR_ATIME != 0 {
      accessed = .at(FileTime(attributes.st_atim))
    }
    if set & FUSE_SET_ATTR_MTIME_NOW != 0 {
      modified = .now
    } else if set & FUSE_SET_ATTR_MTIME != 0 {
      modified = .at(FileTime(attributes.st_mtim))
    }
    // FATTR_KILL_SUIDGID.
    clearsSetIDs = set & FUSE_SET_ATTR_KILL_SUID != 0
  }
}
