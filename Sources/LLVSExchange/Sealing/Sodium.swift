internal import CSodium

/// The functions of libsodium that encryption uses, over arrays.
enum Sodium {
  private static let isReady = sodium_init() >= 0
  static func start() { precondition(isReady, "libsodium does not start on this machine") }

  static func random(_ count: Int) -> [UInt8] {
    start()
    var bytes = [UInt8](repeating: 0, count: count)
    randombytes_buf(&bytes, count)
    return bytes
  }

  /// Returns the 32 bytes of keyed BLAKE2b.
  static func hash(_ text: [UInt8], key: [UInt8]) -> [UInt8] {
    start()
    var out = [UInt8](repeating: 0, count: 32)
    let result = crypto_generichash(
      &out, out.count, text, UInt64(text.count), key, key.count)
    precondition(result == 0, "a key of BLAKE2b has 16 to 64 bytes")
    return out
  }

  /// Returns bytes encrypted with XChaCha20-Poly1305, 16 bytes longer.
  static func sealed(_ bytes: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8] {
    start()
    precondition(key.count == 32 && nonce.count == 24, "a key has 32 bytes, a nonce 24")
    var length: UInt64 = 0
    var out = [UInt8](repeating: 0, count: bytes.count + 16)
    crypto_aead_xchacha20poly1305_ietf_encrypt(
      &out, &length, bytes, UInt64(bytes.count), context, UInt64(context.count), nil, nonce, key)
    return out
  }

  /// Returns the plain bytes; nil if anything was changed.
  static func opened(_ bytes: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
    start()
    precondition(key.count == 32 && nonce.count == 24, "a key has 32 bytes, a nonce 24")
    guard bytes.count >= 16 else { return nil }
    var length: UInt64 = 0
    var plain = [UInt8](repeating: 0, count: bytes.count)
    let result = crypto_aead_xchacha20poly1305_ietf_decrypt(
      &plain, &length, nil, bytes, UInt64(bytes.count), context, UInt64(context.count), nonce, key)
    return result == 0 ? Array(plain.prefix(Int(length))) : nil
  }

  /// Returns the 64 bytes of Argon2id 1.3; nil if there is too little memory.
  static func stretched(
    _ passphrase: [UInt8], salt: [UInt8], passes: UInt32, kibibytes: UInt32
  ) -> [UInt8]? {
    start()
    precondition(salt.count == 16, "a salt has 16 bytes")
    var out = [UInt8](repeating: 0, count: 64)
    var words = passphrase.map { CChar(bitPattern: $0) }
    let result = crypto_pwhash(
      &out, UInt64(out.count), &words, UInt64(words.count), salt, UInt64(passes),
      Int(kibibytes) * 1024, crypto_pwhash_ALG_ARGON2ID13)
    words.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) }
    return result == 0 ? out : nil
  }

  /// Compares two secrets in constant time.
  static func isEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    start()
    return a.count == b.count && sodium_memcmp(a, b, a.count) == 0
  }

  static func clear(_ bytes: inout [UInt8]) {
    start()
    bytes.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) }
  }
}
