internal import CCrypto
internal import Platform

/// The id that git gives to a file's bytes, for patches; a SHA-1, not used for security.
package struct GitBlob {
  private var context = SHA_CTX()

  package init(length: UInt64) {
    SHA1_Init(&context)
    update(Array("blob \(length)\0".utf8))
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { raw in
      if let start = raw.baseAddress, raw.count > 0 { _ = SHA1_Update(&context, start, raw.count) }
    }
  }

  package consuming func id() -> String {
    var digest = [UInt8](repeating: 0, count: 20)
    _ = SHA1_Final(&digest, &context)
    return digest.hex
  }

  package static func id(of bytes: [UInt8]) -> String {
    var blob = GitBlob(length: UInt64(bytes.count))
    blob.update(bytes)
    return blob.id()
  }
}
