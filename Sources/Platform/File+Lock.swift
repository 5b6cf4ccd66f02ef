internal import CShims
internal import Glibc

extension File {
  /// The kinds of locks: any number of open files share one, or a single one has it.
  package enum LockKind: Sendable { case shared, exclusive }

  /// Acquires a lock on the whole file that belongs to this open file, not to the process (an OFD
  /// lock).
  ///
  /// With `waiting` it waits until other open files have released the lock.
  ///
  /// - Returns: true if it was acquired; always true when `waiting`.
  /// - Throws: the error of fcntl(2).
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

  /// Releases the lock; closing the file does so too.
  package func unlock() {
    _ = llvs_lock(descriptor, Int32(F_UNLCK), 0)
  }

  /// True if another open file description, here or in another process, has the file open: the kernel
  /// then refuses a lease for writing. False also where the file system has no leases.
  ///
  /// This file must be open for reading alone.
  package var isOpenElsewhere: Bool {
    // fcntl(2): F_SETLEASE is 1024.
    if fcntl(descriptor, 1024, F_WRLCK) == 0 {
      _ = fcntl(descriptor, 1024, F_UNLCK)
      return false
    }
    return errno == EAGAIN
  }

  /// Acquires an exclusive lock of the other kind, flock(2), which a directory can have too.
  ///
  /// It, too, belongs to this open file. It does not wait.
  ///
  /// - Returns: false if another open file has it; true also if the file system has no such locks.
  /// - Throws: the error of flock(2).
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
