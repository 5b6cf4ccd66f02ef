import LLVSCore

/// A file in an exchange, read piece by piece as JSON.
/// Every fault is ``StoreError/invalid(_:)`` with file, reason and byte.
/// - Concurrency: for one thread at a time.
package final class WireInput {
  /// Fills a buffer from its start and returns how many bytes; 0 at the end.
  typealias Fill = (UnsafeMutableRawBufferPointer) throws(StoreError) -> Int
  /// The greatest depth; no file that this program or the original writes nests deeper than six.
  static let maximumDepth = 32
  let name: String
  private let fill: Fill
  var buffer: [UInt8]
  var position = 0
  private(set) var end = 0
  private var consumed: UInt64 = 0
  private var isExhausted = false
  var depth = 0

  init(name: String, pieceSize: Int = 65_536, fill: @escaping Fill) {
    self.name = name
    self.fill = fill
    buffer = [UInt8](repeating: 0, count: max(16, pieceSize))
  }

  /// Creates an input that reads bytes in place.
  package init(name: String, bytes: [UInt8]) {
    self.name = name
    fill = { _ in 0 }
    buffer = bytes
    end = bytes.count
  }

  package convenience init(name: String, bytes: [UInt8], pieceSize: Int) {
    var offset = 0
    self.init(name: name, pieceSize: pieceSize) { out in
      let count = min(out.count, bytes.count - offset)
      bytes.withUnsafeBytes { out.copyMemory(from: .init(rebasing: $0[offset..<(offset + count)])) }
      offset += count
      return count
    }
  }

  func malformed(_ reason: String) -> StoreError {
    .invalid("\(name): \(reason) at byte \(consumed + UInt64(position))")
  }

  /// Ensures that a byte is in the buffer; false at the end of the file.
  func refill() throws(StoreError) -> Bool {
    if position < end { return true }
    if isExhausted { return false }
    consumed += UInt64(end)
    position = 0
    end = 0
    let fill = self.fill
    let count = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(StoreError) in
      try fill(UnsafeMutableRawBufferPointer(buffer))
    }
    end = min(buffer.count, max(0, count))
    isExhausted = end == 0
    return end > 0
  }

  func next() throws(StoreError) -> UInt8 {
    guard try refill() else { throw malformed("the file ends too early") }
    defer { position += 1 }
    return buffer[position]
  }
}
