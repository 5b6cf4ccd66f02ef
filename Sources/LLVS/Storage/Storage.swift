public import Foundation

/// Names bytes in a zone: a key, and the version that stored them.
public struct ZoneReference: Hashable, Codable, Sendable {
  /// The key.
  public var key: String
  /// The version.
  public var version: Version.ID

  /// Names the value that `version` stored under `key`.
  public init(key: String, version: Version.ID) {
    self.key = key
    self.version = version
  }
}

/// A place for bytes: of values, or of the maps of versions' values.
///
/// A store calls a zone from one thread at a time. Bytes that were stored are never changed.
public protocol Zone {
  /// Stores bytes durably.
  func store(_ data: Data, for reference: ZoneReference) throws
  func store(_ data: [Data], for references: [ZoneReference]) throws
  /// Returns the bytes of a reference; nil if there are none.
  func data(for reference: ZoneReference) throws -> Data?
  func data(for references: [ZoneReference]) throws -> [Data?]
}

extension Zone {
  /// Keeps the bytes of several references, one after the other.
  public func store(_ data: [Data], for references: [ZoneReference]) throws {
    for (data, reference) in zip(data, references) { try store(data, for: reference) }
  }

  /// Returns the bytes of several references, one after the other.
  public func data(for references: [ZoneReference]) throws -> [Data?] {
    try references.map { try data(for: $0) }
  }
}

/// The map that a zone is for.
public enum MapType: Hashable, Sendable {
  /// The values of each version.
  case valuesByVersion
  /// A map of the program's own.
  case userDefined(label: String)
}

/// A format of a store's directory: versions are files in `versions/`, values and maps are in zones.
public protocol Storage {
  func makeValuesZone(in store: Store) throws -> any Zone
  func makeMapZone(for type: MapType, in store: Store) throws -> any Zone
}
