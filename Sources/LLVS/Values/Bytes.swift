/// A name that is compared byte by byte: Swift's own comparison equates composed and decomposed accents.
public protocol ByteComparedName: RawRepresentable, Hashable, Comparable, Codable, Sendable
where RawValue == String {}

extension ByteComparedName {
  public static func == (a: Self, b: Self) -> Bool {
    var (first, second) = (a.rawValue, b.rawValue)
    return first.withUTF8 { mine in second.withUTF8 { mine.elementsEqual($0) } }
  }

  public func hash(into hasher: inout Hasher) {
    var text = rawValue
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  public static func < (a: Self, b: Self) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}
