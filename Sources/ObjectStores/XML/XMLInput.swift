/// The bytes of an XML answer, read one after the other.
///
/// - Concurrency: for one thread at a time.
struct XMLInput {
  /// Fills a buffer from its start and returns how many bytes; 0 at the end.
  typealias Fill = (UnsafeMutableRawBufferPointer) throws(RemoteError) -> Int

  private let fill: Fill
  private var buffer: [UInt8]
  private var position = 0
  private var end = 0

  /// Reads bytes in memory.
  init(_ bytes: [UInt8]) {
    buffer = bytes
    end = bytes.count
    fill = { _ in 0 }
  }

  /// Reads bytes that come in pieces.
  init(pieceSize: Int = 1 << 16, _ fill: @escaping Fill) {
    self.fill = fill
    buffer = [UInt8](repeating: 0, count: max(1, pieceSize))
  }

  static func malformed(_ words: String) -> RemoteError {
    RemoteError(.malformed, "the answer is not XML, or not whole: \(words)")
  }

  /// The next byte, which stays the next; nil at the end.
  mutating func peek() throws(RemoteError) -> UInt8? {
    if position == end {
      position = 0
      end = 0
      var (count, failure) = (0, RemoteError?.none)
      buffer.withUnsafeMutableBytes { raw in
        do throws(RemoteError) {
          count = try fill(raw)
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      end = min(max(0, count), buffer.count)
      if end == 0 { return nil }
    }
    return buffer[position]
  }

  /// The next byte.
  ///
  /// - Throws: `malformed` at the end.
  mutating func next() throws(RemoteError) -> UInt8 {
    guard let byte = try peek() else { throw Self.malformed("it ends too early") }
    position += 1
    return byte
  }

  /// Appends the next bytes that belong to something, until it has `limit` bytes or those at hand are used up:
  /// more may follow.
  mutating func take(
    _ belongs: (UInt8) -> Bool, into bytes: inout [UInt8], limit: Int
  ) {
    let stop = min(end, position + max(0, limit - bytes.count))
    var next = position
    buffer.withUnsafeBufferPointer { raw in
      while next < stop, belongs(raw[next]) { next += 1 }
    }
    bytes += buffer[position..<next]
    position = next
  }

  /// Goes past a byte that was looked at.
  mutating func skip() { position += 1 }

  /// Goes past a byte if it is the next; false if it is not.
  mutating func skip(_ byte: UInt8) throws(RemoteError) -> Bool {
    guard try peek() == byte else { return false }
    position += 1
    return true
  }

  /// Goes past bytes that have to be the next.
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

  /// Goes past everything up to and with an end such as `-->`.
  mutating func skip(past text: StaticString) throws(RemoteError) {
    // The bytes that were read last, as many as the end has; it has four at most.
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
