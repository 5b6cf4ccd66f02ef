internal import Foundation
import LLVSCore
internal import Platform

/// The key of a remote whose bundles are encrypted: docs/formats.md, "Encrypted remotes".
package struct RemoteKey: Hashable, Sendable {
  /// 32 random bytes.
  let bytes: [UInt8]
  /// Nanoseconds since 1970; the newest key encrypts.
  package let made: UInt64

  init(_ bytes: [UInt8], made: UInt64) {
    precondition(bytes.count == 32, "a key has 32 bytes")
    self.bytes = bytes
    self.made = made
  }

  package static func random() -> RemoteKey {
    RemoteKey(Sodium.random(32), made: UInt64(clamping: SystemClock.now()))
  }

  /// The 8 bytes that are in bundles to tell which key it is.
  package var id: [UInt8] { Array(Sodium.hash(Array("llvs key id 1".utf8), key: bytes).prefix(8)) }
  package var name: String { Self.name(of: id[...]) }

  static func name(of id: ArraySlice<UInt8>) -> String { id.hex }

  fileprivate func bundleKey(_ salt: [UInt8]) -> [UInt8] {
    Sodium.hash(Array("llvs bundle 2".utf8) + salt, key: bytes)
  }
}

/// Encrypts the frames of one bundle.
///
/// INVARIANT E1: no nonce is used twice under a key. A bundle's key comes from a salt that is new
///   for every bundle, of random bytes and of what tells one bundle of one machine from all others;
///   within a bundle the nonce is the frame's kind and number.
struct BundleSeal: Sendable {
  let keyID: [UInt8]
  /// The bundle's own 32 bytes.
  let salt: [UInt8]
  private let key: [UInt8]
  /// The bytes that bind a frame to its bundle: its head and its name.
  private let context: [UInt8]

  init(
    _ key: RemoteKey, salt: [UInt8], writer: String, sequence: UInt64,
    format: UInt8 = BundleFormat.number
  ) {
    keyID = key.id
    self.salt = salt
    self.key = key.bundleKey(salt)
    var context = BundleFormat.head(isSealed: true, format: format)
    context.append(UInt8(writer.utf8.count))
    context += Array(writer.utf8)
    context.append(bigEndian: sequence)
    self.context = context
  }

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

  /// Returns the frame; nil if this key did not seal it for this place.
  func opened(_ bytes: [UInt8], _ kind: BundleFormat.FrameKind, _ number: Int) -> [UInt8]? {
    let place = Self.place(kind, number)
    return Sodium.opened(
      bytes, key: key, nonce: place + [UInt8](repeating: 0, count: 8), context: context + place)
  }
}

package struct HeldKeys: Sendable {
  /// The keys, the newest first, which encrypts; of two made at once that of the greater id.
  package let keys: [RemoteKey]

  package init(_ keys: [RemoteKey]) {
    self.keys = Set(keys).sorted { a, b in
      a.made == b.made ? b.id.lexicographicallyPrecedes(a.id) : b.made < a.made
    }
  }

  func seal(
    keyID: [UInt8], salt: [UInt8], writer: String, sequence: UInt64, format: UInt8
  ) -> BundleSeal? {
    keys.first { $0.id == keyID }.map {
      BundleSeal($0, salt: salt, writer: writer, sequence: sequence, format: format)
    }
  }

  /// Returns a seal for a new bundle.
  /// - Throws: ``StoreError/denied(_:)`` if no key is held.
  func newSeal(writer: String, sequence: UInt64) throws(StoreError) -> BundleSeal {
    guard let key = keys.first else {
      throw .denied(
        "this store holds no key of this peer; \"llvs key open\" asks for its passphrase")
    }
    var own = Array(writer.utf8)
    own.append(bigEndian: sequence)
    own.append(bigEndian: UInt64(clamping: SystemClock.now()))
    own += Self.bootID
    let salt = Sodium.hash(own, key: Sodium.random(32))
    return BundleSeal(key, salt: salt, writer: writer, sequence: sequence)
  }

  /// The kernel's name for this run of the machine.
  private static let bootID: [UInt8] =
    (try? FileSystem.read("/proc/sys/kernel/random/boot_id", atMost: 64)) ?? []
}
