/// Appends integers (big-endian) and counted bytes to a record.
package struct RecordEncoder {
  package private(set) var bytes: [UInt8] = []

  package init(reserving capacity: Int = 64) {
    bytes.reserveCapacity(capacity)
  }

  package mutating func put<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func put(_ value: Bool) {
    bytes.append(value ? 1 : 0)
  }

  /// Puts a number in the place of bytes that are there.
  mutating func replace(at offset: Int, by value: UInt64) {
    withUnsafeBytes(of: value.bigEndian) {
      bytes.replaceSubrange(offset..<(offset + $0.count), with: $0)
    }
  }

  /// Counted bytes: a u32 and the bytes.
  package mutating func put(counted value: [UInt8]) {
    put(UInt32(truncatingIfNeeded: value.count))
    bytes.append(contentsOf: value)
  }
}

/// Reads what ``RecordEncoder`` wrote; every read is bounded and says when bytes are missing.
package struct RecordDecoder {
  package struct Malformed: Error {}

  private let bytes: [UInt8]
  private var position: Int

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    position = 0
  }

  var isAtEnd: Bool { position == bytes.count }

  package mutating func get<T: FixedWidthInteger>(_ type: T.Type = T.self) throws(Malformed) -> T {
    let size = MemoryLayout<T>.size
    guard bytes.count - position >= size else { throw Malformed() }
    var value: T = 0
    for byte in bytes[position..<(position + size)] {
      // A shift by 8 of a one-byte type leaves zero, which is what is wanted.
      value = (value << 8) | T(truncatingIfNeeded: byte)
    }
    position += size
    return value
  }

  mutating func getBool() throws(Malformed) -> Bool {
    let value: UInt8 = try get()
    guard value <= 1 else { throw Malformed() }
    return value == 1
  }

  package mutating func getCounted(atMost limit: Int) throws(Malformed) -> [UInt8] {
    let count = Int(try get(UInt32.self))
    guard count <= limit, bytes.count - position >= count else { throw Malformed() }
    defer { position += count }
    return Array(bytes[position..<(position + count)])
  }
}
