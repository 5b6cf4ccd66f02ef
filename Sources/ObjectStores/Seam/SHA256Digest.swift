internal import CCrypto
internal import Platform

package struct SHA256Digest: Hashable, Sendable, CustomStringConvertible {
  package let bytes: [UInt8]

  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    self.bytes = Array(bytes)
  }

  fileprivate init(finished bytes: [UInt8]) { self.bytes = bytes }

  package static func of(_ bytes: some Sequence<UInt8>) -> SHA256Digest {
    var run = SHA256Hashing()
    let whole: Void? = bytes.withContiguousStorageIfAvailable {
      run.add(UnsafeRawBufferPointer($0))
    }
    if whole == nil { Array(bytes).withUnsafeBytes { run.add($0) } }
    return run.finish()
  }

  package var description: String { bytes.hex }

  /// HMAC-SHA256 (RFC 2104).
  static func authentication(of text: String, key: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 32
    let bytes = Array(text.utf8)
    HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &out, &length)
    return out
  }
}

package struct SHA256Hashing {
  private var context = SHA256_CTX()
  package init() { SHA256_Init(&context) }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return }
    SHA256_Update(&context, start, bytes.count)
  }

  package func finish() -> SHA256Digest {
    var copy = context
    var out = [UInt8](repeating: 0, count: 32)
    SHA256_Final(&out, &copy)
    return SHA256Digest(finished: out)
  }
}
