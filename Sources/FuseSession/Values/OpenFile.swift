import CFuse3

/// The open file that a request came through.
package struct OpenFile: Hashable, Sendable {
  package let handle: HandleID
  /// open(2)'s flags (`O_APPEND`, `O_TRUNC`, ...), in open, create, read, write and release.
  package let flags: Int32
  /// Names the owner of POSIX locks, in flush and release: one process' files.
  package let lockOwner: UInt64
  /// True for a WRITE of pages from the page cache (a mapping); then the caller is not the writer.
  package let isFromPageCache: Bool
  /// True for a RELEASE that stands for a FLUSH too.
  package let flushes: Bool
  /// True for a WRITE of somebody who may not keep the file's set-user-id and set-group-id bits.
  package let clearsSetIDs: Bool

  package init(
    handle: HandleID, flags: Int32 = 0, lockOwner: UInt64 = 0, isFromPageCache: Bool = false,
    flushes: Bool = false, clearsSetIDs: Bool = false
  ) {
    self.handle = handle
    self.flags = flags
    self.lockOwner = lockOwner
    self.isFromPageCache = isFromPageCache
    self.flushes = flushes
    self.clearsSetIDs = clearsSetIDs
  }

  init(_ info: fuse_file_info) {
    self.init(
      handle: HandleID(info.fh), flags: info.flags & ~PrivilegeAgreement.mark,
      lockOwner: info.lock_owner, isFromPageCache: info.writepage != 0, flushes: info.flush != 0,
      clearsSetIDs: info.flags & PrivilegeAgreement.mark != 0)
  }
}

/// How the kernel is to treat a file or directory that was just opened.
package struct OpenOptions: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Reads and writes go to us, not through the page cache.
  package static let directIO = OpenOptions(rawValue: 1 << 0)
  /// What the page cache holds of the file stays.
  package static let keepCache = OpenOptions(rawValue: 1 << 1)
  /// The kernel may keep what this directory handle lists.
  package static let cacheReaddir = OpenOptions(rawValue: 1 << 2)
  /// Closing sends no FLUSH.
  package static let noFlush = OpenOptions(rawValue: 1 << 3)
  package static let nonSeekable = OpenOptions(rawValue: 1 << 4)

  func apply(to info: inout fuse_file_info) {
    if contains(.directIO) { info.direct_io = 1 }
    if contains(.keepCache) { info.keep_cache = 1 }
    if contains(.cacheReaddir) { info.cache_readdir = 1 }
    if contains(.noFlush) { info.noflush = 1 }
    if contains(.nonSeekable) { info.nonseekable = 1 }
  }
}

/// What rename(2) is told beyond the two names.
package struct RenameFlags: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// `RENAME_NOREPLACE`: an existing target is EEXIST.
  package static let noReplace = RenameFlags(rawValue: 1 << 0)
  /// `RENAME_EXCHANGE`: both names exist and change places.
  package static let exchange = RenameFlags(rawValue: 1 << 1)
  /// `RENAME_WHITEOUT`: for overlay file systems; refuse with EINVAL.
  package static let whiteout = RenameFlags(rawValue: 1 << 2)
}

/// Who made a request.
package struct Caller: Hashable, Sendable {
  package let uid: UInt32
  package let gid: UInt32
  /// The thread's id; 0 where the kernel itself asks, or from another pid namespace.
  package let pid: Int32
  package let umask: UInt32

  package init(uid: UInt32, gid: UInt32, pid: Int32, umask: UInt32) {
    self.uid = uid
    self.gid = gid
    self.pid = pid
    self.umask = umask
  }
}

/// What statfs(2) shows of the file system.
package struct FileSystemStatistics: Hashable, Sendable {
  /// The unit of the three block counts.
  package var blockSize: UInt64 = 4096
  package var blocks: UInt64 = 0
  package var freeBlocks: UInt64 = 0
  package var availableBlocks: UInt64 = 0
  package var files: UInt64 = 0
  package var freeFiles: UInt64 = 0
  package var longestName: UInt64 = 255

  package init() {}
}
