internal import CCrypto

/// SHA-256 over bytes that are added in pieces.
package struct SHA256Hasher {
  private var context = SHA256_CTX()

  package init() { SHA256_Init(&context) }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return }
    SHA256_Update(&context, start, bytes.count)
  }

  package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }
  package mutating func update(_ byte: UInt8) { withUnsafeBytes(of: byte) { update($0) } }

  /// Adds an integer, most significant byte first, as in all formats of the project.
  package mutating func update(bigEndian value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.bigEndian) { update($0) }
  }

  package mutating func update(_ digest: Digest) {
    let words = digest.words
    let bytes = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
    withUnsafeBytes(of: bytes) { update($0) }
  }

  /// Returns the digest of everything added so far; more bytes may be added later.
  package func finish() -> Digest {
    var copy = context
    return Self.digest { SHA256_Final($0, &copy) }
  }

  /// Returns the digest that `write` writes as 32 bytes.
  fileprivate static func digest(_ write: (UnsafeMutablePointer<UInt8>?) -> Int32) -> Digest {
    withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { out in
      _ = write(out.baseAddress?.assumingMemoryBound(to: UInt8.self))
      return Digest(checked: UnsafeRawBufferPointer(out), at: 0)
    }
  }
}

extension Digest {
  package static let ofNothing = SHA256Hasher().finish()

  package static func of(_ bytes: UnsafeRawBufferPointer) -> Digest {
    // Used in place: a copy of a context just written takes as long as hashing a short input.
    withUnsafeTemporaryAllocation(of: SHA256_CTX.self, capacity: 1) { context in
      SHA256_Init(context.baseAddress)
      if let start = bytes.baseAddress, bytes.count > 0 {
        SHA256_Update(context.baseAddress, start, bytes.count)
      }
      return SHA256Hasher.digest { SHA256_Final($0, context.baseAddress) }
    }
  }

  package static func of(_ bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes { of($0) } }

  /// Writes the 32 bytes to the start of a buffer, which must have at least 32.
  package func store(to out: UnsafeMutableRawBufferPointer) {
    precondition(out.count >= 32, "a digest takes 32 bytes")
    out.storeBytes(of: words.0.bigEndian, toByteOffset: 0, as: UInt64.self)
    out.storeBytes(of: words.1.bigEndian, toByteOffset: 8, as: UInt64.self)
    out.storeBytes(of: words.2.bigEndian, toByteOffset: 16, as: UInt64.self)
    out.storeBytes(of: words.3.bigEndian, toByteOffset: 24, as: UInt64.self)
  }

  /// Reads 32 bytes at an offset of a buffer; nil if the buffer ends before.
  package init?(loading bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard offset >= 0, bytes.count >= 32, offset <= bytes.count - 32 else { return nil }
    self.init(checked: bytes, at: offset)
  }

  /// Reads 32 bytes at an offset that the caller has checked.
  @inline(__always)
  init(checked bytes: UnsafeRawBufferPointer, at offset: Int) {
    self.init(
      words: (
        bytes.bigEndian(UInt64.self, at: offset), bytes.bigEndian(UInt64.self, at: offset + 8),
        bytes.bigEndian(UInt64.self, at: offset + 16), bytes.bigEndian(UInt64.self, at: offset + 24)
      ))
  }
}
