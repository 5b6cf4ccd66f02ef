extension [UInt8] {
  /// Calls a body with the raw bytes; unlike `withUnsafeBytes` it keeps the type of the error.
  @inlinable @inline(__always)
  package func withPiece<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBufferPointer { (bytes) throws(Failure) in
      try body(UnsafeRawBufferPointer(bytes))
    }
  }

  /// Makes an array of at most `count` bytes: the body fills the buffer and returns how many.
  package init<Failure: Error>(
    count: Int, filledBy body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    var failure: Failure?
    self.init(unsafeUninitializedCapacity: count) { buffer, used in
      let out = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count)
      do throws(Failure) { used = try body(out) } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
