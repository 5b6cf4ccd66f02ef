internal import CShims
internal import Glibc

extension File {
  package enum LockKind: Sendable { case shared, exclusive }

  /// Acquires a lock on the whole file for this open file (an OFD lock); false if another has it and not `waiting`.
  package func lock(_ kind: LockKind, waiting: Bool = false) throws(SystemError) -> Bool {
    try Faults.pass(.lock, "fcntl", path)
    while true {
      let result = llvs_lock(
        descriptor, Int32(kind == .shared ? F_RDLCK : F_WRLCK), waiting ? 1 : 0)
      let code = errno
      if result == 0 { return true }
      if code == EINTR { continue }
      if !waiting, code == EAGAIN || code == EACCES { return false }
      throw failed("fcntl", code)
    }
  }

  package func unlock() { _ = llvs_lock(descriptor, Int32(F_UNLCK), 0) }

  /// True if the file, open for reading only, is open elsewhere: the kernel then refuses a lease for writing. False
  /// also if the file system has no leases.
  package var isOpenElsewhere: Bool {
    // fcntl(2): F_SETLEASE is 1024.
    if fcntl(descriptor, 1024, F_WRLCK) == 0 {
      _ = fcntl(descriptor, 1024, F_UNLCK)
      return false
    }
    return errno == EAGAIN
  }

  /// Acquires flock(2), also possible for a directory, for this open file without waiting; false if another has it,
  /// true if the file system lacks it.
  package func lockEntirely() throws(SystemError) -> Bool {
    try Faults.pass(.lock, "flock", path)
    while true {
      let result = flock(descriptor, LOCK_EX | LOCK_NB)
      let code = errno
      if result == 0 { return true }
      switch code {
      case EINTR: continue
      case EWOULDBLOCK: return false
      case ENOSYS, EOPNOTSUPP, ENOLCK, EINVAL: return true
      default: throw failed("flock", code)
      }
    }
  }
}
