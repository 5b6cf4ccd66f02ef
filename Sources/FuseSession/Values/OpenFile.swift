import CFuse3

/// The open file that a request was made through.
package struct OpenFile: Hashable, Sendable {
  /// The handle that the answer to the open gave.
  package let handle: HandleID
  /// open(2)'s flags (`O_APPEND`, `O_TRUNC`, ...), in open, create, read, write and release.
  package let flags: Int32
  /// Identifies the owner of POSIX locks, in flush and release: one process's files.
  package let lockOwner: UInt64
  /// True for a WRITE of pages from the page cache (a mapping); then the caller is not the writer.
  package let isFromPageCache: Bool
  /// True for a RELEASE that is a FLUSH too.
  package let flushes: Bool
  /// True for a WRITE from a caller that may not keep the file's set-user-id and set-group-id bits.
  package let clearsSetIDs: Bool

  /// Creates a description; the defaults are those of a plain read.
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

/// Options of the answer to an open: how the kernel treats the file or directory.
@usableFromInline
package struct OpenOptions: OptionSet, Sendable {
  /// The bits of the options.
  @usableFromInline package let rawValue: UInt32
  /// Creates options from bits.
  @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Reads and writes are sent to the file system, not served by the page cache.
  package static let directIO = OpenOptions(rawValue: 1 << 0)
  /// The pages that the page cache holds of the file stay valid.
  package static let keepCache = OpenOptions(rawValue: 1 << 1)
  /// The kernel may cache the listing of this directory handle.
  package static let cacheReaddir = OpenOptions(rawValue: 1 << 2)
  /// Closing a descriptor sends no FLUSH.
  package static let noFlush = OpenOptions(rawValue: 1 << 3)
  /// The file has no position: lseek(2) fails.
  package static let nonSeekable = OpenOptions(rawValue: 1 << 4)

  func apply(to info: inout fuse_file_info) {
    if contains(.directIO) { info.direct_io = 1 }
    if contains(.keepCache) { info.keep_cache = 1 }
    if contains(.cacheReaddir) { info.cache_readdir = 1 }
    if contains(.noFlush) { info.noflush = 1 }
    if contains(.nonSeekable) { info.nonseekable = 1 }
  }
}

/// The flags of renameat2(2).
package struct RenameFlags: OptionSet, Sendable {
  /// The bits of the flags.
  package let rawValue: UInt32
  /// Creates flags from bits.
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// `RENAME_NOREPLACE`: an existing target is EEXIST.
  package static let noReplace = RenameFlags(rawValue: 1 << 0)
  /// `RENAME_EXCHANGE`: both names exist and are exchanged.
  package static let exchange = RenameFlags(rawValue: 1 << 1)
  /// `RENAME_WHITEOUT`: for overlay file systems; refuse with EINVAL.
  package static let whiteout = RenameFlags(rawValue: 1 << 2)
}

/// The process and thread that made a request.
package struct FuseCaller: Hashable, Sendable {
  /// The user of file system access checks.
  package let uid: UInt32
  /// The group of file system access checks.
  package let gid: UInt32
  /// The thread's id; 0 if the kernel itself asks, or if the caller is in another pid namespace.
  package let pid: Int32
  /// The umask, in the requests that make a file.
  package let umask: UInt32

  package init(uid: UInt32, gid: UInt32, pid: Int32, umask: UInt32) {
    self.uid = uid
    self.gid = gid
    self.pid = pid
    self.umask = umask
  }
}

/// The numbers that statfs(2) shows of the file system.
package struct FileSystemStatistics: Hashable, Sendable {
  /// The unit of the three block counts, in bytes.
  package var blockSize: UInt64 = 4096
  /// The size of the file system.
  package var blocks: UInt64 = 0
  /// The free blocks.
  package var freeBlocks: UInt64 = 0
  /// The free blocks that ordinary users may use.
  package var availableBlocks: UInt64 = 0
  /// The number of files.
  package var files: UInt64 = 0
  /// The number of files that can still be made.
  package var freeFiles: UInt64 = 0
  /// The longest name, in bytes.
  package var longestName: UInt64 = 255

  /// Creates empty statistics.
  package init() {}
}
