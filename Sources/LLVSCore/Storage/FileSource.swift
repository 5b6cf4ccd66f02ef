package import Platform

/// A value in a file; finds holes without reading them.
package struct FileSource: ContentSource {
  package let file: File
  package let length: UInt64

  private let isCancelled: @Sendable (_ offset: UInt64) -> Bool

  /// Calls `isCancelled` before each read, with its place.
  package init(
    _ file: File, length: UInt64,
    isCancelled: @escaping @Sendable (_ offset: UInt64) -> Bool = { _ in false }
  ) {
    self.file = file
    self.length = length
    self.isCancelled = isCancelled
  }

  /// Fills the buffer; EIO if the file ends too early.
  package func read(
    at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    if isCancelled(offset) { throw .cancelled }
    try StoreError.wrapping { () throws(SystemError) in
      guard try file.read(into: buffer, at: offset) == buffer.count else {
        throw SystemError(errno: Errno.inputOutput, call: "read (short)", subject: file.path)
      }
    }
  }

  package func extent(at offset: UInt64) throws(StoreError) -> ContentExtent {
    do throws(SystemError) {
      guard let data = try file.nextData(from: offset), data < length else {
        return .hole(end: length)
      }
      if data > offset { return .hole(end: data) }
      let hole = try file.nextHole(from: offset) ?? length
      return .data(end: max(offset + 1, min(hole, length)))
    } catch {
      // This file system does not report holes.
      if error.errno == Errno.invalid { return .data(end: length) }
      throw .system(error)
    }
  }
}
