public import Foundation

extension Version {
  public typealias Metadata = [MetadataKey: MetadataValue]

  /// The key of a piece of metadata, compared as bytes.
  public struct MetadataKey: ByteComparedName, ExpressibleByStringLiteral {
    public var rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral rawValue: String) { self.rawValue = rawValue }

    public static let branch = MetadataKey("__llvs_branch")
  }

  /// The bytes of a piece of metadata, normally the JSON of a value.
  public struct MetadataValue: Hashable, Codable, Sendable {
    public var data: Data

    public init(data: Data) { self.data = data }

    /// Creates the JSON of a value; empty bytes if it cannot be encoded.
    public init<T: Encodable>(_ value: T) { data = (try? JSONEncoder().encode(value)) ?? Data() }
    public func value<T: Decodable>() -> T? { valueIfDecodable() }

    public func valueIfDecodable<T: Decodable>() -> T? {
      try? JSONDecoder().decode(T.self, from: data)
    }
  }
}
