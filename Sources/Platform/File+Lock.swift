internal import CShims
internal import Glibc

extension File {
  package enum LockKind: Sendable { case shared, exclusive }

  /// Takes a lock on the whole file that belongs to this open file, not to the process (OFD lock).
  ///
  /// Returns whether it was taken; when `waiting` for who holds it, that is always.
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

  /// Gives a lock back; closing the file does so too.
  package func unlock() {
    _ = llvs_lock(descriptor, Int32(F_UNLCK), 0)
  }

  /// Takes an exclusive lock of the other kind, flock(2), which a directory can have; it, too, belongs to this
  /// open file. Returns whether it was taken: it is also where the file system knows no such locks.
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
