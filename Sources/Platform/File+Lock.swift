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
}
