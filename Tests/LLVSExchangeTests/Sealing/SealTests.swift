import Foundation
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// Encrypted bundles and key files: what is frozen, and what is found when bytes are changed.
@Suite("Encrypted remotes", .timeLimit(.minutes(3)))
struct SealTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private static let key = RemoteKey(Array(0..<32), made: 1_700_000_000_000_000_000)
  private static let weak = KeyFile.Strength(passes: 1, kibibytes: 8192)
  /// Made by another implementation (PyNaCl, hashlib): the page's vectors.
  private static let file =
    "4c4c56534b45590100000001000020006465666768696a6b6c6d6e6f70717273"
    + "32333435363738393a3b3c3d3e3f40414243444546474849da851510665722b1"
    + "f5b85450fe83c08e999d1f9dbf26a9c04239058b1beab1695657aca1a4e55e39"
    + "f60eec0244e24ac25251feb8bfaee4c97c76072aeec9d72347f709f77d30d7bc"
    + "cae27f9e3c93a7c5913f40962d578395"

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = hex[...]
    while !rest.isEmpty {
      bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  @Test("key file, key id and frame are those of another implementation")
  func vectors() throws {
    let made = try KeyFile(
      Self.key, passphrase: Array("correct horse".utf8), Self.weak, salt: Array(100..<116),
      nonce: Array(50..<74))
    #expect(Self.hex(made.bytes) == Self.file)
    #expect(try made.key(passphrase: Array("correct horse".utf8)) == Self.key)
    #expect(Self.key.name == "8d621bcd2c92dd24")
    let seal = BundleSeal(
      Self.key, salt: Array(200..<232), writer: "w", sequence: 3, format: 2)
    let frame = seal.sealed(Array("hello".utf8), .content, 5)
    #expect(Self.hex(frame) == "0831a12ad88059cf4cac99778956f7c84adbbd7935")
    #expect(seal.opened(frame, .content, 5) == Array("hello".utf8))
  }

  @Test("a frame opens at its own place alone, in its own bundle, under its own key")
  func places() {
    let salt = [UInt8](repeating: 9, count: 32)
    let seal = BundleSeal(Self.key, salt: salt, writer: "w", sequence: 3)
    let frame = seal.sealed([1, 2, 3], .outline, 2)
    #expect(seal.opened(frame, .outline, 2) == [1, 2, 3])
    #expect(seal.opened(frame, .outline, 1) == nil && seal.opened(frame, .table, 2) == nil)
    for other in [
      BundleSeal(Self.key, salt: salt, writer: "w", sequence: 4),
      BundleSeal(Self.key, salt: salt, writer: "x", sequence: 3),
      BundleSeal(Self.key, salt: [1] + salt.dropFirst(), writer: "w", sequence: 3),
      BundleSeal(RemoteKey.random(), salt: salt, writer: "w", sequence: 3),
    ] { #expect(other.opened(frame, .outline, 2) == nil) }
    for bit in 0..<(frame.count * 8) {
      var changed = frame
      changed[bit / 8] ^= UInt8(1 << (bit % 8))
      #expect(seal.opened(changed, .outline, 2) == nil)
    }
  }

  @Test("a key file is opened by its passphrase alone, and every changed bit is found")
  func keyFile() throws {
    let file = try KeyFile(Self.bytes(Self.file))
    #expect(try file.key(passphrase: Array("correct hors".utf8)) == nil)
    #expect(try file.key(passphrase: []) == nil)
    // Argon2 is slow on purpose, so a bit of every byte is enough.
    for byte in stride(from: 0, to: KeyFile.length, by: 5) {
      var bytes = file.bytes
      bytes[byte] ^= 1
      do {
        let key = try KeyFile(bytes).key(passphrase: Array("correct horse".utf8))
        #expect(key == nil, "byte \(byte)")
      } catch {
        switch error {
        case .invalid, .fromTheFuture: break
        default: Issue.record("byte \(byte): \(error)")
        }
      }
    }
  }

  @Test("a key file that asks for too much, or is cut short, is refused before any work")
  func bounds() throws {
    for (passes, kibibytes) in [(0, 8192), (17, 8192), (1, 8191), (1, 1_048_577)] {
      var bytes = Array(Self.bytes(Self.file)[..<8])
      bytes.append(bigEndian: UInt32(passes))
      bytes.append(bigEndian: UInt32(kibibytes))
      bytes += Self.bytes(Self.file)[16...]
      #expect(throws: StoreError.self) { try KeyFile(bytes) }
    }
    for count in [0, 7, 8, 143] {
      #expect(throws: StoreError.self) { try KeyFile(Array(Self.bytes(Self.file)[..<count])) }
    }
  }

  @Test("bytes that decrypt under another key as well are refused, since the check binds the key")
  func commitment() throws {
    // The check of one passphrase with the sealed part of another: whoever makes a file that opens
    // under two needs both checks to be equal.
    let other = try KeyFile(
      Self.key, passphrase: Array("another".utf8), Self.weak, salt: Array(100..<116),
      nonce: Array(50..<74))
    let mixed = Self.bytes(Self.file)[..<112] + other.bytes[112...]
    let file = try KeyFile(Array(mixed))
    for passphrase in ["correct horse", "another"] {
      #expect(try file.key(passphrase: Array(passphrase.utf8)) == nil)
    }
  }

  @Test("names of key files are read as they are spelled")
  func names() throws {
    let file = try KeyFile(Self.bytes(Self.file))
    let name = try #require(KeyFileName("laptop", file))
    #expect(KeyFileName(name.text) == name && name.matches(file.bytes))
    #expect(!name.matches(file.bytes.dropLast() + [0]))
    #expect(KeyFileName("a-b", file) == nil && KeyFileName("", file) == nil)
    #expect(KeyFileName(".x", file) == nil && KeyFileName("laptop-144-00.key") == nil)
  }

  // MARK: Bundles

  private func sealed(_ keys: HeldKeys) throws -> BundleMade {
    try BundleMade(
      scratch: directory.path, seal: try keys.newSeal(writer: "w", sequence: 3)
    ) { writer in
      let bytes = [UInt8](repeating: 7, count: 200)
      let number = try writer.add(BundleItem(.chunk, Digest.of(bytes)), bytes)
      try writer.add(
        BundleMade.version("root"), contentDigest: nil,
        changes: try BundleMade.changes(
          [.insert(Key("secret name"), .item(number, length: 200))], scratch: directory.path))
    }
  }

  private func read(
    _ name: BundleName, _ bytes: [UInt8], _ keys: HeldKeys?
  ) throws -> Int {
    try BundleReader(name, BundleInMemory(bytes: bytes), cache: FrameCache(), keys: keys).readAll()
  }

  @Test("an encrypted bundle is read with its key, and tells nothing of its names")
  func bundle() throws {
    let keys = HeldKeys([Self.key])
    let made = try sealed(keys)
    #expect(try read(made.name, made.bytes, keys) == 1 + 200 + 1)
    #expect(String(decoding: made.bytes, as: UTF8.self).contains("secret name") == false)
    // The same content has other bytes each time.
    #expect(try sealed(keys).bytes != made.bytes)
    // Without the key, with another, and where nothing is encrypted.
    for others in [nil, HeldKeys([]), HeldKeys([.random()])] as [HeldKeys?] {
      #expect(throws: StoreError.self) { try read(made.name, made.bytes, others) }
    }
    // A plain bundle where all has to be encrypted.
    let plain = try BundleMade(scratch: directory.path) { _ in }
    #expect(throws: StoreError.self) { try read(plain.name, plain.bytes, keys) }
    // Under another name: the bytes are bound to it.
    let renamed = BundleName(
      writer: "w", sequence: 4, length: made.name.length, hash: made.name.hash)
    #expect(throws: StoreError.self) { try read(renamed, made.bytes, keys) }
  }

  @Test("every flipped bit of an encrypted bundle is found, but for those of its head")
  func flippedBits() throws {
    let keys = HeldKeys([Self.key])
    let made = try sealed(keys)
    for bit in 0..<(made.bytes.count * 8) {
      var bytes = made.bytes
      bytes[bit / 8] ^= UInt8(1 << (bit % 8))
      do {
        _ = try read(made.name, bytes, keys)
        #expect(bit < 12 * 8, "bit \(bit)")
      } catch let error as StoreError {
        switch error {
        case .invalid, .fromTheFuture: break
        default: Issue.record("bit \(bit): \(error)")
        }
      }
    }
  }

  @Test("of several keys the newest encrypts, and all open")
  func severalKeys() throws {
    let old = RemoteKey(Array(1..<33), made: 5)
    let both = HeldKeys([old, Self.key])
    let made = try sealed(HeldKeys([old]))
    #expect(try read(made.name, made.bytes, both) > 0)
    let new = try sealed(both)
    #expect(try read(new.name, new.bytes, HeldKeys([Self.key])) > 0)
    #expect(throws: StoreError.self) { try read(new.name, new.bytes, HeldKeys([old])) }
  }
}
