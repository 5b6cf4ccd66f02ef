package import LLVSCore
import Platform

/// Counts how often keys were rewritten in the last day because a merge of the original restored old values. The
/// limit, which survives restarts, prevents an endless exchange with programs that always restore them. The text of
/// the setting has a line for each key: its bytes in hexadecimal, and times in seconds since 1970.
package final class RewriteLimits {
  package static let settingName = "document.rewritten"
  private static let day: Int64 = 86_400
  /// The most keys that are kept; the oldest rewrites are forgotten first.
  private static let keyLimit = 10_000
  private let most: Int
  private let now: Int64
  private var times: [Key: [Int64]] = [:]
  /// True if a key was counted.
  package private(set) var hasChanged = false
  /// The keys that must not be rewritten again today.
  package private(set) var held: Set<Key> = []

  /// Reads `stored`; `now` is in seconds since 1970.
  package init(_ stored: [UInt8]?, most: Int, now: Int64 = SystemClock.realtime().seconds) {
    self.most = most
    self.now = now
    for line in (stored ?? []).split(separator: 0x0A) {
      let words = String(decoding: line, as: UTF8.self).split(separator: " ")
      guard let first = words.first, let key = Self.bytes(first) else { continue }
      // A clock that was set back must not block a key permanently.
      let recent = words.dropFirst().compactMap { Int64($0) }
        .filter { $0 > now - Self.day && $0 <= now + Self.day }
      if !recent.isEmpty { times[Key(bytes: key)] = recent }
    }
  }

  /// Returns true, and counts it, if a key was rewritten less often than the limit in the last day.
  package func mayRewrite(_ key: Key) -> Bool {
    guard times[key, default: []].count < most else {
      held.insert(key)
      return false
    }
    times[key, default: []].append(now)
    hasChanged = true
    return true
  }

  package var text: [UInt8] {
    let kept = times.sorted { a, b in
      let (x, y) = (a.value.max() ?? 0, b.value.max() ?? 0)
      return x != y ? x > y : a.key < b.key
    }.prefix(Self.keyLimit)
    return Array(
      kept.map { key, times in
        ([key.bytes.hex] + times.map { "\($0)" }).joined(separator: " ") + "\n"
      }.joined().utf8)
  }

  private static func bytes(_ digits: Substring) -> [UInt8]? {
    let digits = Array(digits)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for at in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(digits[at...(at + 1)]), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
