import CFuse3

extension ConnectionOptions {
  /// Chooses among the capabilities that the kernel offers in INIT, instead of libfuse's defaults.
  ///
  /// The writeback cache stays off: with it the kernel does not say which process wrote, or when.
  /// FUSE_CAP_ASYNC_DIO too: after a direct write with io_submit(2) the kernel keeps pages that readers cached
  /// during the write.
  func negotiate(_ connection: inout fuse_conn_info) -> ConnectionInfo {
    var wanted: UInt32 = 0
    func want(_ capability: Int32, _ condition: Bool = true) {
      if condition { wanted |= UInt32(bitPattern: capability) }
    }
    want(FUSE_CAP_ASYNC_READ)
    want(FUSE_CAP_ATOMIC_O_TRUNC, atomicTruncate)
    want(FUSE_CAP_PARALLEL_DIROPS, parallelDirectories)
    want(FUSE_CAP_READDIRPLUS, readdirPlus != .never)
    want(FUSE_CAP_READDIRPLUS_AUTO, readdirPlus == .automatic)
    want(FUSE_CAP_SPLICE_WRITE, splicesReplies)
    want(FUSE_CAP_SPLICE_MOVE, splicesReplies)
    want(FUSE_CAP_CACHE_SYMLINKS, cachesSymlinks)
    want(FUSE_CAP_AUTO_INVAL_DATA, comparesTimes)
    want(FUSE_CAP_EXPLICIT_INVAL_DATA, explicitInvalidation && !comparesTimes)
    want(FUSE_CAP_EXPIRE_ONLY)
    // A directory's default access control list replaces the umask.
    want(FUSE_CAP_DONT_MASK)
    want(FUSE_CAP_POSIX_ACL, enforcesACLs)
    want(FUSE_CAP_EXPORT_SUPPORT, findsNumbers)
    want(FUSE_CAP_NO_OPEN_SUPPORT, withoutOpens)
    want(FUSE_CAP_NO_OPENDIR_SUPPORT, withoutOpens)
    let capable = connection.capable
    connection.want = wanted & capable
    connection.max_write = largestWrite
    connection.max_readahead = min(connection.max_readahead, largestReadahead)
    connection.max_background = largestBackground
    connection.congestion_threshold = congestionThreshold
    connection.time_gran = 1
    func has(_ capability: Int32) -> Bool { capable & UInt32(bitPattern: capability) != 0 }
    return ConnectionInfo(
      protocolMajor: connection.proto_major, protocolMinor: connection.proto_minor,
      largestWrite: connection.max_write, largestReadahead: connection.max_readahead,
      allowsNoOpen: has(FUSE_CAP_NO_OPEN_SUPPORT),
      allowsNoOpendir: has(FUSE_CAP_NO_OPENDIR_SUPPORT),
      hasReaddirPlus: connection.want & UInt32(bitPattern: FUSE_CAP_READDIRPLUS) != 0,
      hasExplicitInvalidation: connection.want & UInt32(bitPattern: FUSE_CAP_EXPLICIT_INVAL_DATA)
        != 0)
  }
}
