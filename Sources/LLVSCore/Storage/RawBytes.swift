extension [UInt8] {
  /// Calls a body with the raw bytes and keeps the type of its error.
  @inline(__always)
  func withRawBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let outcome: Swift.Result<Result, Failure> = withUnsafeBytes { bytes in
      do throws(Failure) {
        return .success(try body(bytes))
      } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  /// Makes an array of at most `count` bytes: the body fills the buffer and returns how many.
  init<Failure: Error>(
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
