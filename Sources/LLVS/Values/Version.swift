public import Foundation

/// A version: an immutable state of all values, with its predecessors, its time and its metadata.
public struct Version: Hashable, Identifiable, Sendable {
  /// A version's id as spelled, compared as bytes: an upper-case UUID in every version made here.
  public struct Identifier: ByteComparedName, CustomStringConvertible {
    /// The id as spelled.
    public var rawValue: String

    /// Creates an id from its spelling; a unique one, a random UUID, without a spelling.
    public init(rawValue: String = UUID().uuidString) { self.rawValue = rawValue }

    /// The id with this spelling.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The id as spelled.
    public var description: String { rawValue }
  }

  /// A version's id.
  public typealias ID = Identifier

  /// The one or two predecessors of a version.
  public struct Predecessors: Hashable, Codable, Sendable {
    /// The predecessor whose values the changes transform.
    public var idOfFirst: ID
    /// The other side of a merge.
    public var idOfSecond: ID?

    /// Sets both ids.
    public init(idOfFirst: ID, idOfSecond: ID? = nil) {
      self.idOfFirst = idOfFirst
      self.idOfSecond = idOfSecond
    }

    /// The ids of the first and, if there is one, of the second.
    public var ids: [ID] { [idOfFirst] + (idOfSecond.map { [$0] } ?? []) }
  }

  /// The versions made from a version.
  public struct Successors: Hashable, Codable, Sendable {
    /// Their ids.
    public var ids: Set<ID>

    /// Sets the ids.
    public init(ids: Set<ID> = []) { self.ids = ids }
  }

  /// The id.
  public var id: ID
  /// Nil for a root.
  public var predecessors: Predecessors?
  /// The versions made from it that were known when it was read.
  public var successors = Successors()
  /// Seconds since 2001-01-01 UTC.
  public var timestamp: TimeInterval
  /// Bytes of the values that it stored; nil if not recorded.
  public var valueDataSize: Int64?
  /// The version's metadata.
  public var metadata: Metadata

  /// Creates a version, made now unless a timestamp is given.
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
  /// The ids of the versions, in their order.
  public var ids: [Version.ID] { map(\.id) }
  /// The spellings of the versions' ids, in their order.
  public var idStrings: [String] { map(\.id.rawValue) }
}

extension Collection where Element == Version.ID {
  /// The spellings of the ids, in their order.
  public var idStrings: [String] { map(\.rawValue) }
}

extension Collection where Element == Value {
  /// The keys of the values, in their order.
  public var ids: [Value.ID] { map(\.id) }
}
