/// The bytes of an XML answer.
/// - Concurrency: for one thread at a time.
struct XMLInput {
  /// Fills a buffer from its start and returns how many bytes; 0 at the end.
  typealias Fill = (UnsafeMutableRawBufferPointer) throws(RemoteError) -> Int
  private let fill: Fill
  private var buffer: [UInt8]
  private var position = 0
  private var end = 0

  init(_ bytes: [UInt8]) {
    buffer = bytes
    end = bytes.count
    fill = { _ in 0 }
  }

  init(pieceSize: Int = 1 << 16, _ fill: @escaping Fill) {
    self.fill = fill
    buffer = [UInt8](repeating: 0, count: max(1, pieceSize))
  }

  static func malformed(_ words: String) -> RemoteError {
    RemoteError(.malformed, "the answer is not XML, or not whole: \(words)")
  }

  /// Returns the next byte without consuming it; nil at the end.
  mutating func peek() throws(RemoteError) -> UInt8? {
    if position == end {
      position = 0
      end = 0
      let fill = fill
      let count = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(RemoteError) in
        try fill(UnsafeMutableRawBufferPointer(buffer))
      }
      end = min(max(0, count), buffer.count)
      if end == 0 { return nil }
    }
    return buffer[position]
  }

  mutating func next() throws(RemoteError) -> UInt8 {
    guard let byte = try peek() else { throw Self.malformed("it ends too early") }
    position += 1
    return byte
  }

  /// Appends the next bytes that belong, up to `limit` bytes or the end of the buffer.
  mutating func take(_ belongs: (UInt8) -> Bool, into bytes: inout [UInt8], limit: Int) {
    let stop = min(end, position + max(0, limit - bytes.count))
    var next = position
    buffer.withUnsafeBufferPointer { raw in
      while next < stop, belongs(raw[next]) { next += 1 }
    }
    bytes += buffer[position..<next]
    position = next
  }

  mutating func skip() { position += 1 }

  mutating func skip(_ byte: UInt8) throws(RemoteError) -> Bool {
    guard try peek() == byte else { return false }
    position += 1
    return true
  }

  mutating func expect(_ text: StaticString) throws(RemoteError) {
    for index in 0..<text.utf8CodeUnitCount {
      let byte = text.utf8Start[index]
      guard try next() == byte else { throw Self.malformed("\(text) is missing") }
    }
  }

  mutating func skipSpace() throws(RemoteError) {
    while let byte = try peek(), Self.isSpace(byte) { position += 1 }
  }

  static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  /// Skips everything up to the end of a text such as `-->`.
  mutating func skip(past text: StaticString) throws(RemoteError) {
    // The last bytes, as many as the text has: at most four.
    var recent: UInt32 = 0
    var (wanted, mask) = (UInt32(0), UInt32(0))
    for index in 0..<text.utf8CodeUnitCount {
      wanted = wanted << 8 | UInt32(text.utf8Start[index])
      mask = mask << 8 | 0xFF
    }
    var count = 0
    while count < text.utf8CodeUnitCount || recent & mask != wanted {
      recent = recent << 8 | UInt32(try next())
      count += 1
    }
  }
}
