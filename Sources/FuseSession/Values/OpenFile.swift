import CFuse3

/// The open file that a request was made through.
package struct OpenFile: Hashable, Sendable {
  package let handle: HandleID
  /// open(2)'s flags, in open, create, read, write and release.
  package let flags: Int32
  /// True for a WRITE of a mapping's pages, whose caller is not the writer.
  package let isFromPageCache: Bool
  /// True for a WRITE that clears set-user-id and set-group-id bits.
  package let clearsSetIDs: Bool

  init(_ info: fuse_file_info) {
    handle = HandleID(info.fh)
    flags = info.flags & ~PrivilegeAgreement.mark
    isFromPageCache = info.writepage != 0
    clearsSetIDs = info.flags & PrivilegeAgreement.mark != 0
  }
}

/// How the kernel treats an open file or directory.
@usableFromInline
package struct OpenOptions: OptionSet, Sendable {
  @usableFromInline package let rawValue: UInt32
  @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Reads and writes bypass the page cache.
  package static let directIO = OpenOptions(rawValue: 1 << 0)
  /// The file's cached pages stay valid.
  package static let keepCache = OpenOptions(rawValue: 1 << 1)
  /// The kernel may cache the listing.
  package static let cacheReaddir = OpenOptions(rawValue: 1 << 2)
  package static let noFlush = OpenOptions(rawValue: 1 << 3)

  func info(of handle: HandleID) -> fuse_file_info {
    var info = fuse_file_info()
    info.fh = handle.rawValue
    if contains(.directIO) { info.direct_io = 1 }
    if contains(.keepCache) { info.keep_cache = 1 }
    if contains(.cacheReaddir) { info.cache_readdir = 1 }
    if contains(.noFlush) { info.noflush = 1 }
    return info
  }
}

/// The flags of renameat2(2).
package struct RenameFlags: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// `RENAME_NOREPLACE`: an existing target is EEXIST.
  package static let noReplace = RenameFlags(rawValue: 1 << 0)
  /// `RENAME_EXCHANGE`: both names exist and are exchanged.
  package static let exchange = RenameFlags(rawValue: 1 << 1)
}

/// The process and thread that made a request.
package struct FuseCaller: Hashable, Sendable {
  /// For access checks.
  package let uid: UInt32
  package let gid: UInt32
  /// The thread's id; 0 for the kernel itself, or in another pid namespace.
  package let pid: Int32
  /// In requests that make a file.
  package let umask: UInt32
}

package struct FileSystemStatistics: Hashable, Sendable {
  /// In bytes.
  package var blockSize: UInt64 = 4096
  package var blocks: UInt64 = 0
  package var freeBlocks: UInt64 = 0
  /// For ordinary users.
  package var availableBlocks: UInt64 = 0
  package var files: UInt64 = 0
  package var freeFiles: UInt64 = 0

  package init() {}
}
