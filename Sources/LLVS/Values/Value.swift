public import Foundation

/// A value: bytes under an id, as one version has them.
public struct Value: Hashable, Identifiable, Codable, Sendable {
  /// The key of a value, compared as UTF-8 bytes.
  public struct Identifier: ByteComparedName, CustomStringConvertible {
    /// The key's text.
    public var rawValue: String

    /// Creates a key from its text; a unique one, a random UUID, without a text.
    public init(rawValue: String = UUID().uuidString) { self.rawValue = rawValue }

    /// The key with this text.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The key's text.
    public var description: String { rawValue }
  }

  /// The key of a value.
  public typealias ID = Identifier

  /// Names a value at the version that stored its bytes.
  public struct Reference: Hashable, Codable, Sendable {
    /// The key.
    public var valueId: ID
    /// The version that stored the bytes.
    public var storedVersionId: Version.ID

    /// Names the value that a version stored.
    public init(valueId: ID, storedVersionId: Version.ID) {
      self.valueId = valueId
      self.storedVersionId = storedVersionId
    }
  }

  /// The key.
  public var id: ID
  /// The bytes.
  public var data: Data
  /// The version that stored the bytes; nil for a value that is not stored yet.
  public internal(set) var storedVersionId: Version.ID?

  /// A value that is not stored yet.
  public init(id: ID = ID(), data: Data) { self.init(id: id, data: data, storedVersionId: nil) }

  /// A value that is not stored yet, by the text of its key.
  public init(idString: String, data: Data) { self.init(id: ID(idString), data: data) }

  init(id: ID, data: Data, storedVersionId: Version.ID?) {
    self.id = id
    self.data = data
    self.storedVersionId = storedVersionId
  }

  /// The value's reference; nil for a value that is not stored yet.
  public var reference: Reference? {
    storedVersionId.map { Reference(valueId: id, storedVersionId: $0) }
  }
}
