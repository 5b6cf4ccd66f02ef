/// The hash of a key, which shapes the tree of entries: SHA-256("llvs key 1" || key).
struct KeyHash: Comparable {
  private let digest: Digest

  private static let prefix: SHA256Hasher = {
    var hasher = SHA256Hasher()
    hasher.update(Array("llvs key 1".utf8))
    return hasher
  }()

  init(_ key: UnsafeRawBufferPointer) {
    var hasher = Self.prefix
    hasher.update(key)
    digest = hasher.finish()
  }

  /// True if a run at this level ends after an item with this key: bits 6L to 6L+5 are zero.
  func endsRun(atLevel level: Int) -> Bool {
    let bit = 6 * level
    guard bit + 6 <= 256 else { return false }
    let words = digest.words
    let low: UInt64
    let high: UInt64
    switch bit / 64 {
    case 0: (low, high) = (words.3, words.2)
    case 1: (low, high) = (words.2, words.1)
    case 2: (low, high) = (words.1, words.0)
    default: (low, high) = (words.0, 0)
    }
    let shift = UInt64(bit % 64)
    let bits = shift == 0 ? low : low >> shift | high << (64 - shift)
    return bits & 63 == 0
  }

  static func < (a: KeyHash, b: KeyHash) -> Bool { a.digest < b.digest }
}
