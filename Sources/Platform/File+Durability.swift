internal import CShims
internal import Glibc

extension File {
  /// fdatasync(2).
  package func syncData() throws(SystemError) {
    try Faults.pass(.sync, "fdatasync", path)
    guard fdatasync(descriptor) == 0 else { throw failed("fdatasync", errno) }
    Faults.passed(.sync, path, descriptor)
  }

  /// fsync(2).
  package func sync() throws(SystemError) {
    try Faults.pass(.sync, "fsync", path)
    guard fsync(descriptor) == 0 else { throw failed("fsync", errno) }
    Faults.passed(.sync, path, descriptor)
  }

  /// Asks the system to begin writing a range, so that a later sync waits less.
  package func startWriteback(_ range: Range<UInt64>) {
    llvs_start_writeback(
      descriptor, Int64(clamping: range.lowerBound),
      Int64(clamping: range.upperBound - range.lowerBound))
  }

  /// syncfs(2).
  package func syncFileSystem() throws(SystemError) {
    try Faults.pass(.sync, "syncfs", path)
    guard llvs_syncfs(descriptor) == 0 else { throw failed("syncfs", errno) }
  }

  /// Sets the size; a new part reads as zeros (ftruncate).
  package func truncate(to size: UInt64) throws(SystemError) {
    try Faults.pass(.truncate, "ftruncate", path)
    var code: Int32 = 0
    repeat {
      code = ftruncate(descriptor, off_t(clamping: size)) == 0 ? 0 : errno
    } while code == EINTR
    guard code == 0 else { throw failed("ftruncate", code) }
  }

  /// Allocates space (fallocate).
  package func allocate(
    _ range: Range<UInt64>, keepingSize: Bool
  ) throws(SystemError) {
    try fallocated(range, keeping: keepingSize, punching: false)
  }

  /// Makes a range a hole without changing the size.
  package func punchHole(_ range: Range<UInt64>) throws(SystemError) {
    try fallocated(range, keeping: true, punching: true)
  }

  private func fallocated(
    _ range: Range<UInt64>, keeping: Bool, punching: Bool
  ) throws(SystemError) {
    guard !range.isEmpty else { return }
    let dies = try Faults.passSpace(punching ? .punch : .allocate, "fallocate", path)
    var code: Int32 = 0
    repeat {
      let result = llvs_fallocate(
        descriptor, keeping ? 1 : 0, punching ? 1 : 0, Int64(clamping: range.lowerBound),
        Int64(clamping: range.upperBound - range.lowerBound))
      code = result == 0 ? 0 : errno
    } while code == EINTR
    if dies { Faults.die() }
    guard code == 0 else { throw failed("fallocate", code) }
    Faults.passed(punching ? .punch : .allocate, path, descriptor)
  }

  package func status() throws(SystemError) -> FileStatus {
    try Faults.pass(.status, "fstat", path)
    var raw = stat()
    guard unsafe fstat(descriptor, &raw) == 0 else { throw failed("fstat", errno) }
    return FileStatus(raw)
  }

  package func fileSystem() throws(SystemError) -> FileSystemStatus {
    var raw = llvs_statfs()
    guard unsafe llvs_fstatfs(descriptor, &raw) == 0 else { throw failed("fstatfs", errno) }
    return FileSystemStatus(raw)
  }

  // Zeros written ahead of small synced writes: a sync that changes neither size nor blocks takes half the time.

  /// With less room on the disk nothing is written ahead.
  private static let leastAvailable: UInt64 = 64 << 20
  private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

  /// Writes zeros from the file's `end` to `newEnd`; true if it did. `isAllotted` says that the file has its blocks
  /// and keeps them. Nothing depends on the zeros: after a failure there are none or some.
  package func makeRoom(
    from end: UInt64, to newEnd: UInt64, isAllotted: Bool = false
  ) -> Bool {
    guard newEnd > end else { return true }
    do throws(SystemError) {
      if !isAllotted {
        guard try fileSystem().availableBytes >= File.leastAvailable else { return false }
      }
      var offset = end
      while offset < newEnd {
        let count = Int(min(newEnd - offset, UInt64(File.zeros.count)))
        try unsafe withBytes(of: File.zeros) { (raw) throws(SystemError) in
          try unsafe write(UnsafeRawBufferPointer(rebasing: raw[..<count]), at: offset)
        }
        offset += UInt64(count)
      }
      return true
    } catch {
      // Removes the zeros that were written.
      if !isAllotted { try? truncate(to: end) }
      return false
    }
  }
}
