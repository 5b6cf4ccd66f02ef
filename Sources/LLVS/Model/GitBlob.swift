internal import CCrypto

/// What git calls a file's bytes, so that patches name what they were made of as git's own do.
package enum GitBlob {
  /// The SHA-1 of the bytes as a git blob, in hexadecimal; it secures nothing here.
  ///
  /// - Complexity: O(bytes).
  package static func id(of bytes: [UInt8]) -> String {
    var context = SHA_CTX()
    SHA1_Init(&context)
    let head = Array("blob \(bytes.count)\0".utf8)
    head.withUnsafeBytes { _ = SHA1_Update(&context, $0.baseAddress, $0.count) }
    bytes.withUnsafeBytes { raw in
      if let start = raw.baseAddress, raw.count > 0 { _ = SHA1_Update(&context, start, raw.count) }
    }
    // SHA1_Final writes 20 bytes.
    var digest = [UInt8](repeating: 0, count: 20)
    _ = SHA1_Final(&digest, &context)
    return digest.map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }.joined()
  }
}
