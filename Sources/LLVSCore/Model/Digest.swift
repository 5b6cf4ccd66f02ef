/// A SHA-256 digest, compared and ordered as 32 bytes.
package struct Digest: Hashable, Comparable, Sendable {
  /// The bytes as four big-endian words, most significant first.
  package let words: (UInt64, UInt64, UInt64, UInt64)

  package init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

  /// Reads 32 bytes; nil for any other count.
  package init?(bytes: some Sequence<UInt8>) {
    var parts: [UInt64] = [0, 0, 0, 0]
    var count = 0
    for byte in bytes {
      guard count < 32 else { return nil }
      parts[count / 8] = parts[count / 8] << 8 | UInt64(byte)
      count += 1
    }
    guard count == 32 else { return nil }
    words = (parts[0], parts[1], parts[2], parts[3])
  }

  package var bytes: [UInt8] {
    [words.0, words.1, words.2, words.3].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
    }
  }

  package var hex: String { bytes.hex }

  package static func == (a: Digest, b: Digest) -> Bool { a.words == b.words }

  package func hash(into hasher: inout Hasher) {
    // The bytes of a digest are uniformly distributed: one word of them is enough.
    hasher.combine(words.0)
  }

  package static func < (a: Digest, b: Digest) -> Bool { a.words < b.words }
}

extension Collection<UInt8> {
  /// Two digits for each byte.
  package var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(2 * count)
    for byte in self {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
