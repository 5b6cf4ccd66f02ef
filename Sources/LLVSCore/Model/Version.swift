/// A version: an immutable state of all values, with its predecessors, its time and its metadata.
package struct Version: Hashable, Sendable {
  /// A version's id as spelled, compared as bytes: an upper-case UUID in every version made here.
  package struct ID: ByteComparedName {
    package let rawValue: String

    package init(_ rawValue: String) { self.rawValue = rawValue }
  }

  package struct Predecessors: Hashable, Sendable {
    /// The predecessor whose map the changes transform.
    package var idOfFirst: ID
    package var idOfSecond: ID?

    package init(idOfFirst: ID, idOfSecond: ID? = nil) {
      self.idOfFirst = idOfFirst
      self.idOfSecond = idOfSecond
    }

    package var ids: [ID] { [idOfFirst] + (idOfSecond.map { [$0] } ?? []) }
  }

  package var id: ID
  /// Nil for a root.
  package var predecessors: Predecessors?
  /// Seconds since 2001-01-01 UTC, bit for bit as it was received.
  package var timestamp: Double
  /// Bytes of the values that it stored; nil if not recorded.
  package var valueDataSize: Int64?
  package var metadata: Metadata

  package init(
    id: ID, predecessors: Predecessors?, timestamp: Double, valueDataSize: Int64? = nil,
    metadata: Metadata = [:]
  ) {
    self.id = id
    self.predecessors = predecessors
    self.timestamp = timestamp
    self.valueDataSize = valueDataSize
    self.metadata = metadata
  }

  package typealias Metadata = [MetadataKey: MetadataValue]

  /// The key of a piece of metadata, compared as bytes.
  package struct MetadataKey: ByteComparedName {
    package let rawValue: String

    package init(_ rawValue: String) { self.rawValue = rawValue }

    /// The key that carries the name of a version's line.
    package static let branch = MetadataKey("__llvs_branch")
  }

  /// The bytes of a piece of metadata, normally the JSON of a value.
  package struct MetadataValue: Hashable, Sendable {
    package var data: [UInt8]

    package init(data: [UInt8]) { self.data = data }
  }
}

/// A name that is compared byte by byte: Swift's own comparison equates composed and decomposed accents.
package protocol ByteComparedName: Hashable, Comparable, Sendable {
  var rawValue: String { get }
}

extension ByteComparedName {
  package static func == (a: Self, b: Self) -> Bool {
    var (a, b) = (a.rawValue, b.rawValue)
    return a.withUTF8 { mine in
      b.withUTF8 {
        mine.count == $0.count
          && UnsafeRawBufferPointer(mine).compare(to: UnsafeRawBufferPointer($0)) == 0
      }
    }
  }

  /// Feeds the bytes in one call; a call for each byte took ten times as long.
  package func hash(into hasher: inout Hasher) {
    var text = rawValue
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  package static func < (a: Self, b: Self) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}
