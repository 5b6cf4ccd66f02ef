/// Tells bytes that no compressor makes shorter from others, in a tenth to a fifth of the time that trying
/// takes: what is compressed or encrypted already.
///
/// It errs towards trying. Only what is nearly as even as chance in its bytes, and repeats next to no words
/// where words stand, is called random.
enum RandomBytes {
  /// Shorter runs say too little of themselves, and are tried at little cost.
  private static let shortest = 1024
  /// Bytes that are counted, as so many words spread evenly.
  private static let sample = 64
  /// The sum of squares of how often each byte occurs: 1,534 on average for chance, with a deviation of 45.
  /// 7.7 bits a byte give this much, which leaves less to save than makes compressing pay.
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
      var squares = 0
      for index in 0..<sample {
        var word = bytes.loadUnaligned(fromByteOffset: index * stride, as: UInt64.self)
        for _ in 0..<8 {
          let byte = Int(word & 255)
          // (n + 1)^2 = n^2 + 2n + 1.
          squares += 2 * Int(counts[byte]) + 1
          counts[byte] += 1
          word >>= 8
        }
      }
      return squares <= mostEven
    }
  }

  /// Whether a sixteenth of the words have occurred among those shortly before.
  private static func repeatsWords(_ bytes: UnsafeRawBufferPointer) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: slots) { seen in
      seen.initialize(repeating: 0)
      let words = bytes.count / 8
      var repeated = 0
      for index in 0..<words {
        let word = bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self)
        let slot = Int(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) >> 54)
        if seen[slot] == word { repeated += 1 }
        seen[slot] = word
      }
      return repeated >= words / 16
    }
  }
}
