package import LLVSCore

/// A file in an exchange, written in pieces.
/// - Concurrency: for one thread at a time.
package final class WireOutput {
  package typealias Sink = (UnsafeRawBufferPointer) throws(StoreError) -> Void
  private let sink: Sink
  private let checkSpace: ((UInt64) throws(StoreError) -> Void)?
  private var buffer: [UInt8] = []
  private static let pieceSize = 262_144

  /// `checkSpace` is called with the length of a long value before it is written.
  package init(checkSpace: ((UInt64) throws(StoreError) -> Void)? = nil, sink: @escaping Sink) {
    self.sink = sink
    self.checkSpace = checkSpace
    buffer.reserveCapacity(8192)
  }

  func write(_ text: String) { buffer.append(contentsOf: text.utf8) }

  /// Announces a value: a full disk is better known before.
  func expect(_ length: UInt64) throws(StoreError) {
    guard length >= 16 << 20 else { return }
    try checkSpace?(length / 3 * 4)
  }

  func spill() throws(StoreError) {
    guard buffer.count >= WireOutput.pieceSize else { return }
    try flush()
  }

  package func flush() throws(StoreError) {
    guard !buffer.isEmpty else { return }
    try buffer.withPiece(sink)
    buffer.removeAll(keepingCapacity: true)
  }

  /// - Throws: ``StoreError/invalid(_:)`` if the bytes are not UTF-8, which JSON cannot hold.
  func string(_ bytes: [UInt8]) throws(StoreError) {
    guard bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil else {
      throw .invalid("a text that is not UTF-8 cannot be written as JSON")
    }
    JSONString.append(bytes, to: &buffer)
  }

  func string(_ text: String) throws(StoreError) { try string(Array(text.utf8)) }

  func base64(_ bytes: [UInt8]) throws(StoreError) {
    try base64 { (take) throws(StoreError) in try bytes.withPiece(take) }
  }

  func base64(
    _ read: (_ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError)
      -> Void
  ) throws(StoreError) {
    var encoder = Base64.Encoder()
    buffer.append(UInt8(ascii: "\""))
    try read { (piece) throws(StoreError) in
      encoder.encode(piece, into: &buffer)
      try spill()
    }
    encoder.finish(into: &buffer)
    buffer.append(UInt8(ascii: "\""))
    try spill()
  }
}
