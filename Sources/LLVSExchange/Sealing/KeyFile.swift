package import LLVSCore
internal import Platform

/// A file in a remote's `keys/` with its key, which a passphrase opens (docs/formats.md, "Encrypted remotes").
///
///     "LLVSKEY" | 1 | passes u32 | memory KiB u32 | salt 16 | nonce 24 | sealed 40 + 16 | check 32
package struct KeyFile: Hashable, Sendable {
  package struct Strength: Hashable, Sendable {
    var passes: UInt32
    var kibibytes: UInt32

    /// 3 passes over 256 MiB, well under a second on a machine of today.
    package static let usual = Strength(passes: 3, kibibytes: 262_144)
    /// 3 passes over 64 MiB, for machines with little memory.
    package static let light = Strength(passes: 3, kibibytes: 65_536)

    /// False if a stranger's file would take too much memory or work.
    var isUsable: Bool { (1...16).contains(passes) && (8192...1_048_576).contains(kibibytes) }
  }

  private static let head = Array("LLVSKEY".utf8) + [1]
  package static let length = 144
  package let bytes: [UInt8]
  private let strength: Strength

  /// - Throws: ``StoreError/invalid(_:)`` for no usable key file, ``StoreError/fromTheFuture(_:)`` for a newer one.
  package init(_ bytes: [UInt8]) throws(StoreError) {
    guard bytes.count >= 8, bytes.prefix(7).elementsEqual(Self.head.prefix(7)) else {
      throw .invalid("it is no key file")
    }
    guard bytes[7] == 1 else { throw .fromTheFuture("a key file of a newer program") }
    guard bytes.count == Self.length else { throw .invalid("a key file is not whole") }
    strength = bytes.withUnsafeBytes {
      Strength(
        passes: $0.bigEndian(UInt32.self, at: 8), kibibytes: $0.bigEndian(UInt32.self, at: 12))
    }
    guard strength.isUsable else {
      throw .invalid("a key file asks for more work or memory than is allowed")
    }
    self.bytes = bytes
  }

  /// - Throws: ``StoreError/invalid(_:)`` for an empty passphrase, ``StoreError/noSpace(_:)`` without memory.
  package init(
    _ key: RemoteKey, passphrase: [UInt8], strength: Strength = .usual
  ) throws(StoreError) {
    try self.init(
      key, passphrase: passphrase, strength, salt: Sodium.random(16), nonce: Sodium.random(24))
  }

  init(
    _ key: RemoteKey, passphrase: [UInt8], _ strength: Strength, salt: [UInt8], nonce: [UInt8]
  ) throws(StoreError) {
    guard !passphrase.isEmpty else { throw .invalid("a passphrase is empty") }
    precondition(strength.isUsable, "a file that cannot be read is not written")
    var head = Self.head
    head.append(bigEndian: strength.passes)
    head.append(bigEndian: strength.kibibytes)
    head += salt
    var secret = key.bytes
    secret.append(bigEndian: key.made)
    var (sealing, checking) = try Self.secrets(passphrase, salt, strength)
    var bytes = head + nonce + Sodium.sealed(secret, key: sealing, nonce: nonce, context: head)
    bytes += Sodium.hash(bytes, key: checking)
    Sodium.clear(&secret)
    Sodium.clear(&sealing)
    Sodium.clear(&checking)
    self.bytes = bytes
    self.strength = strength
  }

  private static func secrets(
    _ passphrase: [UInt8], _ salt: [UInt8], _ strength: Strength
  ) throws(StoreError) -> (sealing: [UInt8], checking: [UInt8]) {
    let stretched = Sodium.stretched(
      passphrase, salt: salt, passes: strength.passes, kibibytes: strength.kibibytes)
    guard var stretched else {
      throw .noSpace("there are not \(strength.kibibytes / 1024) MiB of memory for the passphrase")
    }
    defer { Sodium.clear(&stretched) }
    return (Array(stretched[..<32]), Array(stretched[32...]))
  }

  /// - Throws: ``StoreError/invalid(_:)`` for a tampered file, ``StoreError/noSpace(_:)`` without enough memory.
  package func key(passphrase: [UInt8]) throws(StoreError) -> RemoteKey? {
    let salt = Array(bytes[16..<32])
    var (sealing, checking) = try Self.secrets(passphrase, salt, strength)
    defer {
      Sodium.clear(&sealing)
      Sodium.clear(&checking)
    }
    // Encryption alone commits to no key: some bytes would open under two passphrases.
    let check = Sodium.hash(Array(bytes[..<112]), key: checking)
    guard Sodium.isEqual(check, Array(bytes[112...])) else { return nil }
    let nonce = Array(bytes[32..<56])
    guard
      let secret = Sodium.opened(
        Array(bytes[56..<112]), key: sealing, nonce: nonce, context: Array(bytes[..<32])),
      secret.count == 40
    else { throw .invalid("a key file holds no key") }
    let made = secret.withUnsafeBytes { $0.bigEndian(UInt64.self, at: 32) }
    return RemoteKey(Array(secret[..<32]), made: made)
  }
}

/// The name of a key file at a remote: `LABEL-LENGTH-HASH.key`.
package struct KeyFileName: Hashable, Comparable, Sendable {
  /// 1 to 64 letters, digits, dots and underscores.
  package let label: String
  let length: Int
  let hash: Digest
  package static let directory = "keys"
  package var text: String { "\(label)-\(length)-\(hash.hex).key" }

  /// Nil for a label that a name cannot have.
  package init?(_ label: String, _ file: KeyFile) {
    guard Self.isLabel(label) else { return nil }
    (self.label, length, hash) = (label, file.bytes.count, Digest.of(file.bytes))
  }

  package init?(_ text: String) {
    guard text.hasSuffix(".key") else { return nil }
    let parts = text.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, Self.isLabel(parts[0]), let length = Int(parts[1]),
      length == KeyFile.length, let hash = Digest(hex: parts[2])
    else { return nil }
    (label, self.length, self.hash) = (String(parts[0]), length, hash)
    guard self.text == text else { return nil }
  }

  package func matches(_ bytes: [UInt8]) -> Bool {
    bytes.count == length && Digest.of(bytes) == hash
  }

  package static func isLabel(_ text: some StringProtocol) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: ".")
      && text.utf8.allSatisfy { $0.isPlain("._") }
  }

  package static func < (a: KeyFileName, b: KeyFileName) -> Bool {
    (a.label, a.hash) < (b.label, b.hash)
  }
}
