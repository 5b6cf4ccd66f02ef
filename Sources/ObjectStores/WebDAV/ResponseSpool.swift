internal import Platform

/// An answer for the reader of XML: in memory while it is short, else in an unnamed file.
final class ResponseSpool {
  private static let most: UInt64 = 1 << 30
  private let spool = BodySpool(directory: SystemProcess.temporaryDirectory, memoryLimit: 1 << 20)

  /// - Throws: `malformed` for an answer of more than a gigabyte; `local` if there is no room.
  func add(_ piece: UnsafeRawBufferPointer) throws(RemoteError) {
    guard spool.length + UInt64(piece.count) <= Self.most else {
      throw RemoteError(.malformed, "the answer has no end")
    }
    try spool.append(piece)
  }

  func read(start: XMLStreamReader.Start, end: XMLStreamReader.End) throws(RemoteError) {
    var reader = try spool.body().reader()
    let input = XMLInput { (buffer) throws(RemoteError) in try reader.read(into: buffer) }
    try XMLStreamReader.read(input, start: start, end: end)
  }
}
