internal import CShims
internal import Glibc

extension File {
  /// The most bytes of one call.
  private static let part = 1 << 27

  /// Copies the file into a new one, sharing blocks if possible; the caller syncs it. EEXIST if the target exists.
  package func duplicate(to target: String, permissions: UInt32 = 0o600) throws(SystemError) {
    let copy = try File(target, [.readWrite, .create, .exclusive], permissions: permissions)
    var done: UInt64 = 0
    while true {
      let (most, dies) = try Faults.passWrite("copy_file_range", target, Self.part)
      let count = llvs_copy_range(
        descriptor, copy.descriptor, Int64(clamping: done), Int64(most))
      let code = errno
      if dies { Faults.die() }
      if count > 0 {
        done += UInt64(count)
        continue
      }
      if count < 0, code == EINTR { continue }
      guard count == 0 || [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP].contains(code) else {
        throw copy.failed("copy_file_range", code)
      }
      // Some file systems cannot copy, and some report the end at once.
      return try readAndWrite(to: copy, from: done)
    }
  }

  private func readAndWrite(to copy: File, from start: UInt64) throws(SystemError) {
    var done = start
    while true {
      let bytes = try read(1 << 20, at: done)
      if bytes.isEmpty { return }
      try copy.write(bytes, at: done)
      done += UInt64(bytes.count)
    }
  }
}
