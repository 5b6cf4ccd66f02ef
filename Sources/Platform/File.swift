internal import CShims
internal import Glibc

/// An open file or directory; closed when the last reference goes.
///
/// - Concurrency: every operation names its offset, so any number of threads may share one.
package final class File: Sendable {
  /// How a file is opened.
  package struct Mode: OptionSet, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let read = Mode(rawValue: O_RDONLY)
    package static let readWrite = Mode(rawValue: O_RDWR)
    package static let create = Mode(rawValue: O_CREAT)
    /// With ``create``: fails if the name is there.
    package static let exclusive = Mode(rawValue: O_EXCL)
    package static let truncate = Mode(rawValue: O_TRUNC)
    package static let append = Mode(rawValue: O_APPEND)
    package static let directory = Mode(rawValue: O_DIRECTORY)
    package static let noFollow = Mode(rawValue: O_NOFOLLOW)
    package static let nonBlocking = Mode(rawValue: O_NONBLOCK)
  }

  package let descriptor: Int32
  /// The path it was opened by, for messages.
  package let path: String

  /// Opens a file, with O_CLOEXEC always.
  ///
  /// - Parameters:
  ///   - path: the path, relative to `directory` where one is given.
  ///   - permissions: the mode of a file that is created, before the umask.
  /// - Throws: what open(2) says.
  package init(
    _ path: String, in directory: File? = nil, _ mode: Mode, permissions: UInt32 = 0o644
  ) throws(SystemError) {
    let full = directory.map { "\($0.path)/\(path)" } ?? path
    try Faults.pass(.open, "open", full)
    var fd: Int32
    var code: Int32
    repeat {
      fd = unsafe llvs_openat(
        directory?.descriptor ?? AT_FDCWD, path, mode.rawValue | O_CLOEXEC, permissions)
      code = errno
    } while fd < 0 && code == EINTR
    guard fd >= 0 else { throw SystemError(errno: code, call: "open", subject: full) }
    descriptor = fd
    self.path = full
  }

  /// Takes over a descriptor.
  package init(adopting descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    // close(2) releases the descriptor whatever it says; errors of writes were met at sync.
    _ = close(descriptor)
  }

  func failed(_ call: StaticString, _ code: Int32) -> SystemError {
    SystemError(errno: code, call: "\(call)", subject: path)
  }
}

// MARK: Data

extension File {
  /// Reads until the buffer is full or the file ends, and returns how many bytes were read.
  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(SystemError) -> Int {
    var done = 0
    while done < buffer.count {
      try Faults.pass(.read, "pread", path)
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = unsafe pread(
        descriptor, rest.baseAddress, rest.count, off_t(clamping: offset) + off_t(done))
      let code = errno
      if count < 0 {
        guard code == EINTR else { throw failed("pread", code) }
        continue
      }
      guard count > 0 else { break }
      done += count
    }
    return done
  }

  /// Reads into two buffers, one after the other, in one call where the system fills them whole.
  ///
  /// Returns how many bytes were read, fewer than both hold where the file ends before.
  package func read(
    into first: UnsafeMutableRawBufferPointer, then second: UnsafeMutableRawBufferPointer,
    at offset: UInt64
  ) throws(SystemError) -> Int {
    try Faults.pass(.read, "preadv", path)
    var count = -1
    var code = EINTR
    while count < 0, code == EINTR {
      count = unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { vectors in
        unsafe vectors[0] = iovec(iov_base: first.baseAddress, iov_len: first.count)
        unsafe vectors[1] = iovec(iov_base: second.baseAddress, iov_len: second.count)
        return unsafe preadv(descriptor, vectors.baseAddress, 2, off_t(clamping: offset))
      }
      code = errno
    }
    guard count >= 0 else { throw failed("preadv", code) }
    guard count > 0, count < first.count + second.count else { return count }
    // Rare: the file ends here, or a signal came between.
    if count < first.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: first[count...])
      count += unsafe try read(into: rest, at: offset + UInt64(count))
      guard count == first.count else { return count }
    }
    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: second[(count - first.count)...])
    return unsafe try count + read(into: rest, at: offset + UInt64(count))
  }

  /// The bytes of a range, fewer where the file ends before.
  package func read(_ count: Int, at offset: UInt64) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      do throws(SystemError) {
        used = unsafe try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Writes all bytes.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let (most, dies) = try Faults.passWrite("pwrite", path, bytes.count - done)
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done..<(done + most)])
      let count = unsafe pwrite(
        descriptor, rest.baseAddress, rest.count, off_t(clamping: offset) + off_t(done))
      let code = errno
      if dies { Faults.die() }
      if count < 0 {
        guard code == EINTR else { throw failed("pwrite", code) }
        continue
      }
      done += count
    }
  }

  package func write(_ bytes: [UInt8], at offset: UInt64) throws(SystemError) {
    try unsafe withBytes(of: bytes) { (raw) throws(SystemError) in
      try unsafe write(raw, at: offset)
    }
  }

  /// Writes several buffers one after the other, in one call where the system takes them whole.
  package func write(
    gathering buffers: [UnsafeRawBufferPointer], at offset: UInt64
  ) throws(SystemError) {
    var total = 0
    for index in 0..<(unsafe buffers.count) { total += unsafe buffers[index].count }
    let (most, dies) = try Faults.passWrite("pwritev", path, total)
    var done = 0
    if most == total, !dies, unsafe buffers.count <= 1024 {
      let vectors = unsafe buffers.map {
        unsafe iovec(
          iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
      }
      let count = unsafe pwritev(
        descriptor, vectors, unsafe Int32(vectors.count), off_t(clamping: offset))
      let code = errno
      if count < 0, code != EINTR { throw failed("pwritev", code) }
      done = max(0, count)
    }
    // What is left, or everything when a test asked for a short write, goes buffer by buffer.
    var start = 0
    for index in 0..<(unsafe buffers.count) {
      let buffer = unsafe buffers[index]
      let from = min(max(0, done - start), buffer.count)
      if from < buffer.count {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[from...])
        try unsafe write(rest, at: offset + UInt64(start + from))
      }
      start += buffer.count
    }
  }

  /// The first offset at or after this one that holds data; nil where only holes follow.
  package func nextData(from offset: UInt64) throws(SystemError) -> UInt64? {
    let found = llvs_seek_data(descriptor, Int64(clamping: offset))
    let code = errno
    if found < 0 {
      guard code == ENXIO else { throw failed("lseek", code) }
      return nil
    }
    return UInt64(found)
  }

  /// The first offset at or after this one that is in a hole; the file's end counts as one.
  package func nextHole(from offset: UInt64) throws(SystemError) -> UInt64? {
    let found = llvs_seek_hole(descriptor, Int64(clamping: offset))
    let code = errno
    if found < 0 {
      guard code == ENXIO else { throw failed("lseek", code) }
      return nil
    }
    return UInt64(found)
  }
}

// MARK: Durability and size

extension File {
  /// Makes the data durable, and the metadata needed to read it (fdatasync).
  package func syncData() throws(SystemError) {
    try Faults.pass(.sync, "fdatasync", path)
    guard fdatasync(descriptor) == 0 else { throw failed("fdatasync", errno) }
  }

  /// Makes the file or the directory durable (fsync).
  package func sync() throws(SystemError) {
    try Faults.pass(.sync, "fsync", path)
    guard fsync(descriptor) == 0 else { throw failed("fsync", errno) }
  }

  /// Makes everything on the file's file system durable (syncfs).
  package func syncFileSystem() throws(SystemError) {
    try Faults.pass(.sync, "syncfs", path)
    guard llvs_syncfs(descriptor) == 0 else { throw failed("syncfs", errno) }
  }

  package func truncate(to size: UInt64) throws(SystemError) {
    try Faults.pass(.truncate, "ftruncate", path)
    var code: Int32 = 0
    repeat {
      code = ftruncate(descriptor, off_t(clamping: size)) == 0 ? 0 : errno
    } while code == EINTR
    guard code == 0 else { throw failed("ftruncate", code) }
  }

  /// Allots space for a range, without changing the size when `keepingSize` (fallocate).
  package func allocate(
    _ range: Range<UInt64>, keepingSize: Bool
  ) throws(SystemError) {
    try fallocated(range, keeping: keepingSize, punching: false)
  }

  /// Makes a range a hole that reads as zeros; the size stays.
  package func punchHole(_ range: Range<UInt64>) throws(SystemError) {
    try fallocated(range, keeping: true, punching: true)
  }

  private func fallocated(
    _ range: Range<UInt64>, keeping: Bool, punching: Bool
  ) throws(SystemError) {
    guard !range.isEmpty else { return }
    try Faults.pass(.allocate, "fallocate", path)
    var code: Int32 = 0
    repeat {
      let result = llvs_fallocate(
        descriptor, keeping ? 1 : 0, punching ? 1 : 0, Int64(clamping: range.lowerBound),
        Int64(clamping: range.upperBound - range.lowerBound))
      code = result == 0 ? 0 : errno
    } while code == EINTR
    guard code == 0 else { throw failed("fallocate", code) }
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
}

// MARK: Locks

extension File {
  package enum LockKind: Sendable { case shared, exclusive }

  /// Takes a lock on the whole file that belongs to this open file, not to the process (OFD lock).
  ///
  /// - Parameter waiting: whether to wait for who holds it.
  /// - Returns: whether it was taken; always true when waiting.
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

/// The raw bytes of an array, with the typed error of the body.
@inline(__always)
func withBytes<Result, Failure: Error>(
  of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
  let outcome: Swift.Result<Result, Failure> = unsafe bytes.withUnsafeBytes { raw in
    do throws(Failure) {
      return .success(try unsafe body(raw))
    } catch {
      return .failure(error)
    }
  }
  return try outcome.get()
}
