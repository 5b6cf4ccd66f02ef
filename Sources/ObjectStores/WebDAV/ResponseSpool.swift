internal import Platform

/// An answer on its way from a connection to the reader of XML: in memory as long as it is short, else in a
/// file that has no name.
final class ResponseSpool {
  private static let inMemory = 1 << 20
  private static let most: UInt64 = 1 << 30

  private var bytes: [UInt8] = []
  private var file: File?
  private var length: UInt64 = 0

  /// Adds bytes.
  ///
  /// - Throws: `malformed` for an answer of more than a gigabyte; `local` where there is no room for it.
  func add(_ piece: UnsafeRawBufferPointer) throws(RemoteError) {
    guard length + UInt64(piece.count) <= Self.most else {
      throw RemoteError(.malformed, "the answer has no end")
    }
    do throws(SystemError) {
      if file == nil, bytes.count + piece.count > Self.inMemory {
        let path = "\(SystemProcess.temporaryDirectory)/llvs-answer-\(SystemRandom.hex(8))"
        let made = try File(path, [.readWrite, .create, .exclusive], permissions: 0o600)
        try FileSystem.unlink(path)
        try made.write(bytes, at: 0)
        bytes = []
        file = made
      }
      if let file { try file.write(piece, at: length) } else { bytes += piece }
    } catch {
      throw RemoteError(error)
    }
    length += UInt64(piece.count)
  }

  /// Reads what was added as XML.
  ///
  /// - Throws: as ``XMLStreamReader``; `local` where the file cannot be read.
  func read(start: XMLStreamReader.Start, end: XMLStreamReader.End) throws(RemoteError) {
    guard let file else { return try XMLStreamReader.read(bytes, start: start, end: end) }
    var offset: UInt64 = 0
    let input = XMLInput { (buffer) throws(RemoteError) in
      do throws(SystemError) {
        let count = try file.read(into: buffer, at: offset)
        offset += UInt64(count)
        return count
      } catch {
        throw RemoteError(error)
      }
    }
    try XMLStreamReader.read(input, start: start, end: end)
  }
}
