/// The name of a line of versions, compared as bytes.
public struct Branch: RawRepresentable, Hashable, Comparable, Sendable {
  /// The name as spelled.
  public let rawValue: String

  /// Creates a branch from its name.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Creates a branch whose name nobody else has: the base and a UUID, or a UUID alone.
  public init(randomizedNameBasedOn base: String? = nil) {
    let unique = Version.ID.random().rawValue
    rawValue = base.map { "\($0)_\(unique)" } ?? unique
  }

  /// Whether both are the same, byte for byte.
  public static func == (a: Branch, b: Branch) -> Bool {
    a.rawValue.hasSameBytes(as: b.rawValue)
  }

  /// Feeds what ``==`` compares to the hasher.
  public func hash(into hasher: inout Hasher) {
    for byte in rawValue.utf8 { hasher.combine(byte) }
  }

  /// Whether the first comes before the second.
  public static func < (a: Branch, b: Branch) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}
