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
    want(FUSE_CAP_ATOMIC_O_TRUNC)
    want(FUSE_CAP_PARALLEL_DIROPS)
    want(FUSE_CAP_READDIRPLUS, readdirPlus != .never)
    want(FUSE_CAP_READDIRPLUS_AUTO, readdirPlus == .automatic)
    want(FUSE_CAP_AUTO_INVAL_DATA, comparesTimes)
    want(FUSE_CAP_EXPLICIT_INVAL_DATA, !comparesTimes)
    // A directory's default access control list replaces the umask.
    want(FUSE_CAP_DONT_MASK)
    want(FUSE_CAP_POSIX_ACL, enforcesACLs)
    want(FUSE_CAP_EXPORT_SUPPORT, findsNumbers)
    want(FUSE_CAP_NO_OPEN_SUPPORT, withoutOpens)
    want(FUSE_CAP_NO_OPENDIR_SUPPORT, withoutOpens)
    connection.want = wanted & connection.capable
    // The kernel's limit.
    connection.max_write = 1 << 20
    connection.max_readahead = min(connection.max_readahead, 1 << 20)
    connection.max_background = 64
    connection.congestion_threshold = 48
    connection.time_gran = 1
    return ConnectionInfo(
      largestWrite: connection.max_write,
      hasReaddirPlus: connection.want & UInt32(bitPattern: FUSE_CAP_READDIRPLUS) != 0,
      hasExplicitInvalidation: connection.want & UInt32(bitPattern: FUSE_CAP_EXPLICIT_INVAL_DATA)
        != 0)
  }
}
