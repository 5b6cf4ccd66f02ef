internal import Foundation
import LLVSCore
internal import Platform

/// The key of a remote whose bundles are encrypted: 32 random bytes, and when they were made.
///
/// docs/formats.md, "Encrypted remotes", describes what is made of it.
package struct RemoteKey: Hashable, Sendable {
  /// The 32 bytes.
  let bytes: [UInt8]
  /// Nanoseconds since 1970: of several keys the one made last encrypts.
  package let made: UInt64

  init(_ bytes: [UInt8], made: UInt64) {
    precondition(bytes.count == 32, "a key has 32 bytes")
    self.bytes = bytes
    self.made = made
  }

  /// Returns a new key.
  package static func random() -> RemoteKey {
    let (seconds, nanoseconds) = SystemClock.realtime()
    return RemoteKey(
      Sodium.random(32), made: UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(nanoseconds))
  }

  /// The 8 bytes that are in bundles to tell which key it is.
  package var id: [UInt8] {
    Array(Sodium.hash(Array("llvs key id 1".utf8), key: bytes).prefix(8))
  }

  /// The id in 16 hex digits, as people see it.
  package var name: String { Self.name(of: id[...]) }

  static func name(of id: ArraySlice<UInt8>) -> String {
    id.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Returns the key of one bundle.
  fileprivate func bundleKey(_ salt: [UInt8]) -> [UInt8] {
    Sodium.hash(Array("llvs bundle 2".utf8) + salt, key: bytes)
  }
}

/// Encrypts the frames of one bundle.
///
/// INVARIANT E1: no nonce is used twice under a key. A bundle's key comes from a salt that is new
///   for every bundle, of random bytes and of what tells one bundle of one machine from all others;
///   within a bundle the nonce is the frame's kind and number.
struct BundleSeal: FrameSeal {
  let keyID: [UInt8]
  let salt: [UInt8]
  private let key: [UInt8]
  /// The bytes that bind a frame to its bundle: its head and its name.
  private let context: [UInt8]

  init(_ key: RemoteKey, salt: [UInt8], writer: String, sequence: UInt64) {
    keyID = key.id
    self.salt = salt
    self.key = key.bundleKey(salt)
    var context = BundleFormat.head(isSealed: true)
    context.append(UInt8(writer.utf8.count))
    context += Array(writer.utf8)
    context.append(bigEndian: sequence)
    self.context = context
  }

  /// Returns the kind and number of a frame, as nonce and context have them.
  private static func place(_ kind: BundleFormat.FrameKind, _ number: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: kind.rawValue)
    bytes.append(bigEndian: UInt64(number))
    return bytes
  }

  func sealed(_ bytes: [UInt8], _ kind: BundleFormat.FrameKind, _ number: Int) -> [UInt8] {
    let place = Self.place(kind, number)
    return Sodium.sealed(
      bytes, key: key, nonce: place + [UInt8](repeating: 0, count: 8), context: context + place)
  }

  func opened(_ bytes: [UInt8], _ kind: BundleFormat.FrameKind, _ number: Int) -> [UInt8]? {
    let place = Self.place(kind, number)
    return Sodium.opened(
      bytes, key: key, nonce: place + [UInt8](repeating: 0, count: 8), context: context + place)
  }
}

/// The keys of a remote that this store holds.
package struct HeldKeys: BundleKeys {
  /// The keys, the one that encrypts what is new first.
  package let keys: [RemoteKey]

  /// Holds keys: of several the one made last encrypts, of two made at once that of the greater id.
  package init(_ keys: [RemoteKey]) {
    self.keys = Set(keys).sorted { a, b in
      a.made == b.made ? b.id.lexicographicallyPrecedes(a.id) : b.made < a.made
    }
  }

  func seal(
    keyID: [UInt8], salt: [UInt8], writer: String, sequence: UInt64
  ) -> (any FrameSeal)? {
    keys.first { $0.id == keyID }.map {
      BundleSeal($0, salt: salt, writer: writer, sequence: sequence)
    }
  }

  func newSeal(writer: String, sequence: UInt64) throws(StoreError) -> any FrameSeal {
    guard let key = keys.first else {
      throw .denied(
        "this store holds no key of this peer; \"llvs key open\" asks for its passphrase")
    }
    var own = Array(writer.utf8)
    own.append(bigEndian: sequence)
    let (seconds, nanoseconds) = SystemClock.realtime()
    own.append(bigEndian: UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(nanoseconds))
    own += Self.bootID
    let salt = Sodium.hash(own, key: Sodium.random(32))
    return BundleSeal(key, salt: salt, writer: writer, sequence: sequence)
  }

  /// The name that the kernel gave this run of the machine; nothing where it gives none.
  private static let bootID: [UInt8] =
    (try? FileSystem.read("/proc/sys/kernel/random/boot_id", atMost: 64)) ?? []
}
