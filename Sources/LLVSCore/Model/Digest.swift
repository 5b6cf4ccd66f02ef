internal import Platform

/// A SHA-256 digest, compared and ordered as 32 bytes.
package struct Digest: Hashable, Comparable, Sendable {
  /// The bytes as four big-endian words, most significant first.
  package let words: (UInt64, UInt64, UInt64, UInt64)

  package init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

  /// Reads 32 bytes; nil for any other count.
  package init?(bytes: some Sequence<UInt8>) {
    guard let digest = Array(bytes).parsed({ $0.digest() }) else { return nil }
    self = digest
  }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(self)
    return bytes
  }

  package var hex: String { bytes.hex }

  package static func == (a: Digest, b: Digest) -> Bool { a.words == b.words }

  package func hash(into hasher: inout Hasher) {
    // The bytes of a digest are uniformly distributed: one word of them is enough.
    hasher.combine(words.0)
  }

  package static func < (a: Digest, b: Digest) -> Bool { a.words < b.words }
}
