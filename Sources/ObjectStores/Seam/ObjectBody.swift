package import Platform

/// The bytes of an object, from memory or a file, with their expected length and hash.
package struct ObjectBody: Sendable {
  private enum Source: Sendable {
    case bytes([UInt8])
    case file(File, from: UInt64)
  }

  private let source: Source
  package let length: UInt64
  package let hash: SHA256Digest

  package init(_ bytes: [UInt8]) {
    self.init(bytes, length: UInt64(bytes.count), hash: SHA256Digest.of(bytes))
  }

  package init(_ bytes: [UInt8], length: UInt64, hash: SHA256Digest) {
    source = .bytes(bytes)
    self.length = length
    self.hash = hash
  }

  /// A range of a file, which must not be written to in the meantime.
  package init(_ file: File, from offset: UInt64 = 0, length: UInt64, hash: SHA256Digest) {
    source = .file(file, from: offset)
    self.length = length
    self.hash = hash
  }

  func reader() -> Reader { Reader(self) }

  /// Reads a body once.
  ///
  /// INVARIANT: the last bytes are returned only if all have the expected length and hash, so a whole object at a
  /// remote is the right one.
  struct Reader {
    private let body: ObjectBody
    private var done: UInt64 = 0
    private var run = SHA256Hashing()

    fileprivate init(_ body: ObjectBody) { self.body = body }

    var rest: UInt64 { body.length - done }

    /// Throws `mismatched` if an empty body should have another hash.
    func start() throws(RemoteError) {
      guard body.length == 0, try isLonger() || run.finish() != body.hash else { return }
      throw mismatch()
    }

    /// Reads the next bytes; 0 at the end.
    /// - Throws: `mismatched`, or `local` if the file cannot be read.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(RemoteError) -> Int {
      let wanted = Int(min(UInt64(buffer.count), rest))
      guard wanted > 0 else { return 0 }
      let count = try fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
      guard count == wanted else { throw mismatch() }
      run.add(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
      done += UInt64(count)
      if rest == 0, try isLonger() || run.finish() != body.hash { throw mismatch() }
      return count
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(RemoteError) -> Int {
      switch body.source {
      case .bytes(let bytes):
        guard done < UInt64(bytes.count) else { return 0 }
        let start = Int(done)
        let count = min(buffer.count, bytes.count - start)
        bytes.withUnsafeBytes {
          buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<(start + count)]))
        }
        return count
      case .file(let file, let offset):
        return try RemoteError.wrapping(try file.read(into: buffer, at: offset + done))
      }
    }

    /// True if there are more bytes in memory than expected. A file may hold other data there.
    private func isLonger() throws(RemoteError) -> Bool {
      guard case .bytes(let bytes) = body.source else { return false }
      return UInt64(bytes.count) > body.length
    }

    private func mismatch() -> RemoteError {
      RemoteError(
        .mismatched, "the bytes to be sent are not the \(body.length) bytes of SHA-256 \(body.hash)"
      )
    }
  }

  /// - Throws: `mismatched`, `local`, or an error of `take`.
  package func read(
    pieces size: Int = 1 << 18, _ take: (UnsafeRawBufferPointer) throws(RemoteError) -> Void
  ) throws(RemoteError) {
    var reader = reader()
    try reader.start()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    defer { buffer.deallocate() }
    while reader.rest > 0 {
      let count = try reader.read(into: buffer)
      try take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }
}
