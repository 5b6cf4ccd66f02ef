// Names are compared byte by byte: Swift's own comparison takes composed and decomposed accents for
// the same.

extension String {
  /// Returns true if both texts are the same, byte for byte.
  fileprivate func hasSameBytes(as other: String) -> Bool {
    var (first, second) = (self, other)
    return first.withUTF8 { mine in second.withUTF8 { mine.elementsEqual($0) } }
  }
}

extension Hasher {
  fileprivate mutating func combine(bytesOf text: String) {
    var text = text
    text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension Value.Identifier: Hashable, Comparable {
  /// Returns true if both are the same, byte for byte.
  public static func == (a: Self, b: Self) -> Bool { a.rawValue.hasSameBytes(as: b.rawValue) }

  /// Feeds the hasher with the bytes that `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: rawValue) }

  /// Returns true if the first is before the second, byte by byte.
  public static func < (a: Self, b: Self) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}

extension Version.Identifier: Hashable, Comparable {
  /// Returns true if both are the same, byte for byte.
  public static func == (a: Self, b: Self) -> Bool { a.rawValue.hasSameBytes(as: b.rawValue) }

  /// Feeds the hasher with the bytes that `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: rawValue) }

  /// Returns true if the first is before the second, byte by byte.
  public static func < (a: Self, b: Self) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}

extension Version.MetadataKey: Hashable, Comparable {
  /// Returns true if both are the same, byte for byte.
  public static func == (a: Self, b: Self) -> Bool { a.rawValue.hasSameBytes(as: b.rawValue) }

  /// Feeds the hasher with the bytes that `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: rawValue) }

  /// Returns true if the first is before the second, byte by byte.
  public static func < (a: Self, b: Self) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}

extension Branch: Hashable, Comparable {
  /// Returns true if both are the same, byte for byte.
  public static func == (a: Self, b: Self) -> Bool { a.rawValue.hasSameBytes(as: b.rawValue) }

  /// Feeds the hasher with the bytes that `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: rawValue) }

  /// Returns true if the first is before the second, byte by byte.
  public static func < (a: Self, b: Self) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}
