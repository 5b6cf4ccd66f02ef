/// A version: an immutable state of all values, with its predecessors, its time and its metadata.
public struct Version: Hashable, Sendable {
  /// A version's id as spelled, compared as bytes: an upper-case UUID in every version made here.
  public struct ID: Hashable, Comparable, Sendable {
    /// The id as spelled.
    public let rawValue: String

    /// Creates an id from its spelling.
    public init(_ rawValue: String) {
      self.rawValue = rawValue
    }

    /// Returns true if both are the same, byte for byte.
    public static func == (a: ID, b: ID) -> Bool {
      a.rawValue.hasSameBytes(as: b.rawValue)
    }

    /// Feeds the hasher with the bytes that ``==`` compares.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(utf8Of: rawValue)
    }

    /// Returns true if the first id is before the second, byte by byte.
    public static func < (a: ID, b: ID) -> Bool {
      a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
    }
  }

  /// The one or two versions that a version was made from.
  public struct Predecessors: Hashable, Sendable {
    /// The predecessor whose map the changes transform.
    public var idOfFirst: ID
    /// The other side of a merge.
    public var idOfSecond: ID?

    /// Creates predecessors.
    public init(idOfFirst: ID, idOfSecond: ID? = nil) {
      self.idOfFirst = idOfFirst
      self.idOfSecond = idOfSecond
    }

    /// The ids of the first and, if there is one, of the second.
    public var ids: [ID] { [idOfFirst] + (idOfSecond.map { [$0] } ?? []) }
  }

  /// The id.
  public var id: ID
  /// The versions that it was made from; nil for a root.
  public var predecessors: Predecessors?
  /// Seconds since 2001-01-01 UTC, bit for bit as it was received.
  public var timestamp: Double
  /// Bytes of the values that it stored; nil if its maker did not record them.
  public var valueDataSize: Int64?
  /// The version's metadata.
  public var metadata: Metadata

  /// Creates a version.
  public init(
    id: ID, predecessors: Predecessors?, timestamp: Double, valueDataSize: Int64? = nil,
    metadata: Metadata = [:]
  ) {
    self.id = id
    self.predecessors = predecessors
    self.timestamp = timestamp
    self.valueDataSize = valueDataSize
    self.metadata = metadata
  }

  /// Metadata by key.
  public typealias Metadata = [MetadataKey: MetadataValue]

  /// The key of a piece of metadata, compared as bytes.
  public struct MetadataKey: Hashable, Comparable, Sendable {
    /// The key as spelled.
    public let rawValue: String

    /// Creates a key.
    public init(_ rawValue: String) {
      self.rawValue = rawValue
    }

    /// The key that carries the name of a version's line.
    public static let branch = MetadataKey("__llvs_branch")

    /// Returns true if both are the same, byte for byte.
    public static func == (a: MetadataKey, b: MetadataKey) -> Bool {
      a.rawValue.hasSameBytes(as: b.rawValue)
    }

    /// Feeds the hasher with the bytes that ``==`` compares.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(utf8Of: rawValue)
    }

    /// Returns true if the first key is before the second, byte by byte.
    public static func < (a: MetadataKey, b: MetadataKey) -> Bool {
      a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
    }
  }

  /// The bytes of a piece of metadata, as a rule the JSON of a value.
  public struct MetadataValue: Hashable, Sendable {
    /// The bytes.
    public var data: [UInt8]

    /// Creates a piece of metadata from its bytes.
    public init(data: [UInt8]) {
      self.data = data
    }
  }
}

extension Hasher {
  /// Feeds the bytes of a text in one call; a call for each byte took ten times as long.
  mutating func combine(utf8Of text: String) {
    var text = text
    text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension String {
  /// Returns true if both texts are the same, byte for byte.
  func hasSameBytes(as other: String) -> Bool {
    var (a, b) = (self, other)
    return a.withUTF8 { mine in
      b.withUTF8 {
        mine.count == $0.count
          && UnsafeRawBufferPointer(mine).compare(to: UnsafeRawBufferPointer($0)) == 0
      }
    }
  }
}
