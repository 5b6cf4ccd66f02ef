import Inodes
import LLVSCore

/// Gives names their cookies: 24 bits of a name's beginning, so that the order of a listing is
/// roughly that of names; 35 bits of its hash; and three bits that number the names that are equal
/// in all these.
///
/// The hash has a key that no other store has, so that nobody can send names that have one cookie.
struct CookieHash {
  /// The number of names that can be equal in prefix and hash.
  static let slots = CookieChoice.count

  private let key: UInt64

  init(key: UInt64) { self.key = key }

  /// The least cookie that a name can have; the others follow it.
  func first(of name: FileName) -> EntryCookie {
    var prefix: UInt64 = 0
    for index in 0..<3 {
      prefix = prefix << 8 | UInt64(index < name.bytes.count ? name.bytes[index] : 0)
    }
    let hash = name.bytes.withUnsafeBytes { Checksum.of($0, seed: key) } >> 29
    return EntryCookie(Int64(prefix << 38 | hash << 3))
  }

  /// The greatest cookie that a name can have, given its least.
  static func last(of first: EntryCookie) -> EntryCookie { EntryCookie(first.rawValue + slots - 1) }
}
