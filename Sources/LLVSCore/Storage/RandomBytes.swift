/// Recognises bytes that no compressor makes shorter, such as compressed or encrypted ones, in a tenth to a fifth
/// of the time of an attempt.
///
/// In doubt it answers no. Bytes are random only if they are distributed nearly as evenly as random ones and hardly
/// repeat words at word boundaries.
enum RandomBytes {
  /// Shorter inputs are too small a sample, and cheap to compress.
  private static let shortest = 1024
  /// The number of 8-byte words, evenly spread, whose bytes are counted.
  private static let sample = 64
  /// The greatest sum of squares of the bytes' frequencies: 7.7 bits for each byte, which leaves too little to
  /// gain. Random bytes have 1,534 on average.
  private static let mostEven = 1760
  private static let slots = 1024

  static func isLikely(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= shortest else { return false }
    return isEven(bytes) && !repeatsWords(bytes)
  }

  private static func isEven(_ bytes: UnsafeRawBufferPointer) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 256) { counts in
      counts.initialize(repeating: 0)
      let stride = (bytes.count - 8) / (sample - 1)
      for index in 0..<sample {
        var word = bytes.loadUnaligned(fromByteOffset: index * stride, as: UInt64.self)
        for _ in 0..<8 {
          counts[Int(word & 255)] += 1
          word >>= 8
        }
      }
      return counts.reduce(0) { $0 &+ Int($1) &* Int($1) } <= mostEven
    }
  }

  /// Returns true if a sixteenth of the words occurred shortly before. A word is known by 26 bits of its hash.
  private static func repeatsWords(_ bytes: UnsafeRawBufferPointer) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt16.self, capacity: slots) { seen in
      seen.initialize(repeating: 0)
      let words = bytes.count / 8
      var repeated = 0
      for index in 0..<words {
        let word = bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self)
        let hash = word &* 0x9E37_79B9_7F4A_7C15
        let (slot, mark) = (Int(hash >> 54), UInt16(truncatingIfNeeded: hash >> 38))
        if seen[slot] == mark { repeated += 1 }
        seen[slot] = mark
      }
      return repeated >= words / 16
    }
  }
}
