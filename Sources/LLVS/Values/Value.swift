public import Foundation

/// A value: bytes under an id, as one version has them.
public struct Value: Hashable, Identifiable, Codable, Sendable {
  /// The key of a value, compared as UTF-8 bytes.
  public struct Identifier: ByteComparedName, CustomStringConvertible {
    public var rawValue: String

    /// Creates a key from its text; a unique one, a random UUID, without a text.
    public init(rawValue: String = UUID().uuidString) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
  }

  public typealias ID = Identifier

  /// Names a value at the version that stored its bytes.
  public struct Reference: Hashable, Codable, Sendable {
    public var valueId: ID
    public var storedVersionId: Version.ID

    public init(valueId: ID, storedVersionId: Version.ID) {
      self.valueId = valueId
      self.storedVersionId = storedVersionId
    }
  }

  public var id: ID
  public var data: Data
  /// The version that stored the bytes; nil for a value that is not stored yet.
  public internal(set) var storedVersionId: Version.ID?

  public init(id: ID = ID(), data: Data) { self.init(id: id, data: data, storedVersionId: nil) }
  public init(idString: String, data: Data) { self.init(id: ID(idString), data: data) }

  init(id: ID, data: Data, storedVersionId: Version.ID?) {
    self.id = id
    self.data = data
    self.storedVersionId = storedVersionId
  }

  public var reference: Reference? {
    storedVersionId.map { Reference(valueId: id, storedVersionId: $0) }
  }
}
