public import Foundation

extension Version {
  /// Metadata by key.
  public typealias Metadata = [MetadataKey: MetadataValue]

  /// The key of a piece of metadata, compared as bytes.
  public struct MetadataKey: ByteComparedName, ExpressibleByStringLiteral {
    /// The key as spelled.
    public var rawValue: String

    /// The key with this text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The key with this text.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The key with this text.
    public init(stringLiteral rawValue: String) { self.rawValue = rawValue }

    /// The key of the name of a version's branch.
    public static let branch = MetadataKey("__llvs_branch")
  }

  /// The bytes of a piece of metadata, normally the JSON of a value.
  public struct MetadataValue: Hashable, Codable, Sendable {
    /// The bytes.
    public var data: Data

    /// Metadata with these bytes.
    public init(data: Data) { self.data = data }

    /// Creates the JSON of a value; empty bytes if it cannot be encoded.
    public init<T: Encodable>(_ value: T) { data = (try? JSONEncoder().encode(value)) ?? Data() }

    /// Decodes the JSON; nil if it is of another type.
    public func value<T: Decodable>() -> T? { valueIfDecodable() }

    /// Decodes the JSON; nil if it is of another type.
    public func valueIfDecodable<T: Decodable>() -> T? {
      try? JSONDecoder().decode(T.self, from: data)
    }
  }
}
