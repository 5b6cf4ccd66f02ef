extension [UInt8] {
  /// The raw bytes, with the typed error of the body.
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
}
