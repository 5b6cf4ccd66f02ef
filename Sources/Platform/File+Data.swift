internal import CShims
internal import Glibc

// Reads and writes at offsets are complete, in spite of signals and short transfers.

extension File {
  /// Reads until the buffer is full or the file ends.
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

  /// Reads into two buffers with one call if possible; fewer bytes at the end of the file.
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
    // The end of the file, or a signal in between.
    if count < first.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: first[count...])
      count += unsafe try read(into: rest, at: offset + UInt64(count))
      guard count == first.count else { return count }
    }
    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: second[(count - first.count)...])
    return unsafe try count + read(into: rest, at: offset + UInt64(count))
  }

  /// Returns the bytes of a range, fewer at the end of the file.
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

  /// Writes bytes with one call, which a signal may end with EINTR: for files whose writes have effects.
  package func writeOnce(_ bytes: [UInt8], at offset: UInt64) throws(SystemError) {
    var done = 0
    var code: Int32 = 0
    unsafe bytes.withUnsafeBytes { raw in
      done = unsafe pwrite(descriptor, raw.baseAddress, raw.count, off_t(clamping: offset))
      code = errno
    }
    guard done == bytes.count else { throw failed("pwrite", done < 0 ? code : EIO) }
  }

  package func write(_ bytes: [UInt8], at offset: UInt64) throws(SystemError) {
    try unsafe withBytes(of: bytes) { (raw) throws(SystemError) in
      try unsafe write(raw, at: offset)
    }
  }

  /// Copies the bytes up to `end` durably into a new file; holes become zeros. EEXIST if the target exists.
  /// `progress` is called with the bytes since its last call; false stops the copy without a sync.
  package func copy(
    to target: String, upTo end: UInt64? = nil, permissions: UInt32 = 0o600,
    progress: (UInt64) -> Bool = { _ in true }
  ) throws(SystemError) {
    let copy = try File(target, [.readWrite, .create, .exclusive], permissions: permissions)
    if try readAndWrite(to: copy, from: 0..<(end ?? .max), progress) { try copy.syncData() }
  }

  /// Returns false if `progress` ended the copying.
  func readAndWrite(
    to copy: File, from range: Range<UInt64>, _ progress: (UInt64) -> Bool
  ) throws(SystemError) -> Bool {
    var offset = range.lowerBound
    while true {
      let bytes = try read(Int(min(1 << 20, range.upperBound - offset)), at: offset)
      if bytes.isEmpty { return true }
      try copy.write(bytes, at: offset)
      offset += UInt64(bytes.count)
      guard progress(UInt64(bytes.count)) else { return false }
    }
  }

  /// Returns the first offset of data from one on; nil if only holes follow.
  package func nextData(from offset: UInt64) throws(SystemError) -> UInt64? {
    try sought(llvs_seek_data(descriptor, Int64(clamping: offset)))
  }

  /// Returns the first offset in a hole from one on, or the file's end; nil beyond the end.
  package func nextHole(from offset: UInt64) throws(SystemError) -> UInt64? {
    try sought(llvs_seek_hole(descriptor, Int64(clamping: offset)))
  }

  /// Returns lseek(2)'s result; nil for ENXIO.
  private func sought(_ found: Int64) throws(SystemError) -> UInt64? {
    let code = errno
    if found >= 0 { return UInt64(found) }
    guard code == ENXIO else { throw failed("lseek", code) }
    return nil
  }
}

/// Keeps the type of the body's error.
@inline(__always)
func withBytes<Result, Failure: Error>(
  of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
  try unsafe bytes.withUnsafeBufferPointer { (raw) throws(Failure) in
    try unsafe body(UnsafeRawBufferPointer(raw))
  }
}
