package import LLVSCore

/// Bytes of a file on the wire, pulled piece by piece and read as JSON; never more than a piece in memory.
///
/// Every fault is ``StoreError/invalid(_:)`` that names the file, the reason and the byte.
///
/// - Concurrency: for one thread at a time.
package final class WireInput {
  /// Fills a buffer from the start and returns how many bytes; 0 at the end.
  package typealias Fill = (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  /// Every fault of what is read.
  package typealias Failure = StoreError

  /// Nothing that we or the original write nests deeper than six.
  static let maximumDepth = 32

  /// The file's name in messages.
  let name: String
  private let fill: Fill
  var buffer: [UInt8]
  var position = 0
  private(set) var end = 0
  private var consumed: UInt64 = 0
  private var isExhausted = false
  var depth = 0

  package init(name: String, pieceSize: Int = 65_536, fill: @escaping Fill) {
    self.name = name
    self.fill = fill
    buffer = [UInt8](repeating: 0, count: max(16, pieceSize))
  }

  /// Reads bytes that are in memory, in place.
  package init(name: String, bytes: [UInt8]) {
    self.name = name
    fill = { _ in 0 }
    buffer = bytes
    end = bytes.count
  }

  /// Reads bytes that are in memory in pieces of a size.
  package convenience init(name: String, bytes: [UInt8], pieceSize: Int) {
    var offset = 0
    self.init(name: name, pieceSize: pieceSize) { out in
      let count = min(out.count, bytes.count - offset)
      bytes.withUnsafeBytes { out.copyMemory(from: .init(rebasing: $0[offset..<(offset + count)])) }
      offset += count
      return count
    }
  }

  /// A fault in what was read.
  func malformed(_ reason: String) -> StoreError {
    .invalid("\(name): \(reason) at byte \(consumed + UInt64(position))")
  }

  /// Makes sure that a byte is in the buffer; false at the end of the file.
  func refill() throws(StoreError) -> Bool {
    if position < end { return true }
    if isExhausted { return false }
    consumed += UInt64(end)
    position = 0
    end = 0
    let fill = self.fill
    let outcome = buffer.withUnsafeMutableBytes { raw in
      Result<Int, StoreError> { () throws(StoreError) in try fill(raw) }
    }
    end = try min(buffer.count, max(0, outcome.get()))
    isExhausted = end == 0
    return end > 0
  }

  func next() throws(StoreError) -> UInt8 {
    guard try refill() else { throw malformed("the file ends too early") }
    defer { position += 1 }
    return buffer[position]
  }
}

extension [UInt8] {
  /// The raw bytes, with the typed error of the body.
  @inline(__always)
  func withPiece(
    _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    try withUnsafeBytes { bytes in
      Result<Void, StoreError> { () throws(StoreError) in try body(bytes) }
    }.get()
  }
}
