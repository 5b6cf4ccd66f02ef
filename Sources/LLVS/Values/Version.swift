public import Foundation

/// A version: an immutable state of all values, with its predecessors, its time and its metadata.
public struct Version: Hashable, Identifiable, Sendable {
  /// A version's id as spelled, compared as bytes: an upper-case UUID in every version made here.
  public struct Identifier: ByteComparedName, CustomStringConvertible {
    public var rawValue: String

    /// Creates an id from its spelling; a unique one, a random UUID, without a spelling.
    public init(rawValue: String = UUID().uuidString) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
  }

  public typealias ID = Identifier

  public struct Predecessors: Hashable, Codable, Sendable {
    /// The predecessor whose values the changes transform.
    public var idOfFirst: ID
    public var idOfSecond: ID?

    public init(idOfFirst: ID, idOfSecond: ID? = nil) {
      self.idOfFirst = idOfFirst
      self.idOfSecond = idOfSecond
    }

    public var ids: [ID] { [idOfFirst] + (idOfSecond.map { [$0] } ?? []) }
  }

  public struct Successors: Hashable, Codable, Sendable {
    public var ids: Set<ID>

    public init(ids: Set<ID> = []) { self.ids = ids }
  }

  public var id: ID
  /// Nil for a root.
  public var predecessors: Predecessors?
  public var successors = Successors()
  /// Seconds since 2001-01-01 UTC.
  public var timestamp: TimeInterval
  /// Bytes of the values that it stored; nil if not recorded.
  public var valueDataSize: Int64?
  public var metadata: Metadata

  public init(
    id: ID = ID(), predecessors: Predecessors? = nil,
    timestamp: TimeInterval = Date().timeIntervalSinceReferenceDate, valueDataSize: Int64? = nil,
    metadata: Metadata = [:]
  ) {
    self.id = id
    self.predecessors = predecessors
    self.timestamp = timestamp
    self.valueDataSize = valueDataSize
    self.metadata = metadata
  }
}

extension Collection where Element == Version {
  public var ids: [Version.ID] { map(\.id) }
  public var idStrings: [String] { map(\.id.rawValue) }
}

extension Collection where Element == Version.ID {
  public var idStrings: [String] { map(\.rawValue) }
}

extension Collection where Element == Value {
  public var ids: [Value.ID] { map(\.id) }
}

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
