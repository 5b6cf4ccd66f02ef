import Platform

struct ByteSet: Hashable, Sendable {
  fileprivate var words = SIMD4<UInt64>()
  static let all = ByteSet().complement

  private static func bit(_ byte: UInt8) -> UInt64 { 1 << UInt64(byte & 63) }
  mutating func insert(_ byte: UInt8) { words[Int(byte >> 6)] |= Self.bit(byte) }
  func contains(_ byte: UInt8) -> Bool { words[Int(byte >> 6)] & Self.bit(byte) != 0 }

  var complement: ByteSet {
    var set = self
    set.words = ~words
    return set
  }
}

/// A pattern for one component of a path: `*`, `?`, `[...]` and bytes.
struct Glob: Hashable, Sendable {
  enum Token: Hashable, Sendable {
    case byte(UInt8)
    case any
    case star
    case oneOf(ByteSet)
  }

  let tokens: [Token]

  /// Parses a pattern without `/`; nil if a bracket expression or an escape is unfinished.
  init?(_ text: ArraySlice<UInt8>) {
    var tokens: [Token] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "*"):
        if tokens.last != .star { tokens.append(.star) }
      case UInt8(ascii: "?"): tokens.append(.any)
      case UInt8(ascii: "["):
        guard let set = Glob.bracket(&rest) else { return nil }
        tokens.append(.oneOf(set))
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else { return nil }
        tokens.append(.byte(escaped))
      default: tokens.append(.byte(byte))
      }
    }
    self.tokens = tokens
  }

  /// Parses a bracket expression after its `[`.
  private static func bracket(_ rest: inout ArraySlice<UInt8>) -> ByteSet? {
    var set = ByteSet()
    var isNegated = false
    if rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "^") {
      isNegated = true
      rest.removeFirst()
    }
    var isFirst = true
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "]"), !isFirst { return isNegated ? set.complement : set }
      isFirst = false
      if byte == UInt8(ascii: "["), rest.first == UInt8(ascii: ":") {
        guard let named = characterClass(&rest) else { return nil }
        set.words |= named.words
        continue
      }
      var low = byte
      if byte == UInt8(ascii: "\\") {
        guard let escaped = rest.popFirst() else { return nil }
        low = escaped
      }
      var high = low
      if rest.first == UInt8(ascii: "-"), let end = rest.dropFirst().first,
        end != UInt8(ascii: "]")
      {
        rest.removeFirst(2)
        high = end
        if end == UInt8(ascii: "\\") {
          guard let escaped = rest.popFirst() else { return nil }
          high = escaped
        }
      }
      if low <= high { for member in low...high { set.insert(member) } }
    }
    return nil
  }

  /// Parses a named character class after `[`: `:name:]`.
  private static func characterClass(_ rest: inout ArraySlice<UInt8>) -> ByteSet? {
    let name = rest.dropFirst().prefix { $0 != UInt8(ascii: ":") }
    let after = rest.dropFirst(1 + name.count)
    guard after.starts(with: ":]".utf8) else { return nil }
    rest = after.dropFirst(2)
    guard let members = UInt8.members(ofClass: String(decoding: name, as: UTF8.self)) else {
      return nil
    }
    var set = ByteSet()
    for member in members { set.insert(member) }
    return set
  }

  /// The bytes that a matching name can begin with, and end with.
  var firstBytes: ByteSet { Glob.bytes(of: tokens.first) }
  var lastBytes: ByteSet { Glob.bytes(of: tokens.last) }

  private static func bytes(of token: Token?) -> ByteSet {
    switch token {
    case .byte(let byte):
      var set = ByteSet()
      set.insert(byte)
      return set
    case .oneOf(let set): return set
    case .any, .star, nil: return .all
    }
  }

  /// True if the whole name matches.
  /// - Complexity: O(name * pattern) at worst.
  func matches(_ name: UnsafeRawBufferPointer) -> Bool {
    tokens.withUnsafeBufferPointer { tokens in
      var token = 0
      var index = 0
      var star = -1
      var resume = 0
      while index < name.count {
        if token < tokens.count {
          switch tokens[token] {
          case .star:
            star = token
            resume = index
            token += 1
            continue
          case .byte(let byte) where byte != name[index]: break
          case .oneOf(let set) where !set.contains(name[index]): break
          case .byte, .any, .oneOf:
            token += 1
            index += 1
            continue
          }
        }
        guard star >= 0 else { return false }
        token = star + 1
        resume += 1
        index = resume
      }
      while token < tokens.count, tokens[token] == .star { token += 1 }
      return token == tokens.count
    }
  }
}
