import Inodes
import LLVSCore

/// Gives names their cookies: 24 bits of the name's beginning, so that listings are roughly sorted; 35 bits of its
/// hash; and three bits that number the names equal in all these. The hash has a key of the store's own, so that
/// no program can make names with equal cookies.
struct CookieHash {
  /// The number of names that can be equal in prefix and hash.
  static let slots = CookieChoice.count
  private let key: UInt64
  init(key: UInt64) { self.key = key }

  /// The least cookie of a name; its others follow.
  func first(of name: FileName) -> EntryCookie {
    var prefix: UInt64 = 0
    for index in 0..<3 {
      prefix = prefix << 8 | UInt64(index < name.bytes.count ? name.bytes[index] : 0)
    }
    let hash = name.bytes.withUnsafeBytes { Checksum.of($0, seed: key) } >> 29
    return EntryCookie(Int64(prefix << 38 | hash << 3))
  }

  static func last(of first: EntryCookie) -> EntryCookie { EntryCookie(first.rawValue + slots - 1) }
}

/// The cookies that the working tree gave to names of one directory before rows had the names.
struct GivenCookies {
  let byName: [FileName: EntryCookie]
  let all: Set<EntryCookie>

  init(_ cookies: [FileName: EntryCookie]) {
    byName = cookies
    all = Set(cookies.values)
  }
}
