/// A key in a scope, both compared by their UTF-8 bytes as SQLite compares them.
public struct ScopedKey: Sendable {
  /// The scope; the empty string is a scope like any other.
  public let scope: String
  public let key: String

  /// Creates a key in a scope; in the empty scope where none is given.
  public init(scope: String = "", key: String) {
    self.scope = scope
    self.key = key
  }
}

extension ScopedKey: ExpressibleByStringLiteral {
  public init(stringLiteral: String) { self.init(key: stringLiteral) }
}

extension ScopedKey: Hashable {
  public static func == (left: ScopedKey, right: ScopedKey) -> Bool {
    Bytes.areEqual(left.key, right.key) && Bytes.areEqual(left.scope, right.scope)
  }

  public func hash(into hasher: inout Hasher) {
    Bytes.hash(scope, into: &hasher)
    Bytes.hash(key, into: &hasher)
  }
}

extension ScopedKey: Comparable {
  public static func < (left: ScopedKey, right: ScopedKey) -> Bool {
    Bytes.areEqual(left.scope, right.scope)
      ? Bytes.isLess(left.key, right.key) : Bytes.isLess(left.scope, right.scope)
  }
}

extension ScopedKey: CustomStringConvertible {
  public var description: String { scope.isEmpty ? key : "\(scope)/\(key)" }
}

enum Bytes {
  static func areEqual(_ left: String, _ right: String) -> Bool {
    left == right && left.utf8.elementsEqual(right.utf8)
  }

  static func isLess(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  static func hash(_ text: String, into hasher: inout Hasher) {
    let isHashed =
      text.utf8.withContiguousStorageIfAvailable {
        hasher.combine(bytes: UnsafeRawBufferPointer($0))
        return true
      } ?? false
    if !isHashed {
      for byte in text.utf8 { hasher.combine(byte) }
    }
    // No text has this byte: what follows is another text.
    hasher.combine(UInt8.max)
  }
}
