public import Foundation

/// Names bytes in a zone: a key, and the version that stored them.
public struct ZoneReference: Hashable, Codable, Sendable {
  public var key: String
  public var version: Version.ID

  public init(key: String, version: Version.ID) {
    self.key = key
    self.version = version
  }
}

/// A place for bytes: of values, or of the maps of versions' values.
/// A store calls a zone from one thread at a time. Bytes that were stored are never changed.
public protocol Zone {
  /// Stores bytes durably.
  /// - Throws: any error, which ends the work of the store.
  func store(_ data: Data, for reference: ZoneReference) throws
  /// - Throws: any error, which ends the work of the store.
  func store(_ data: [Data], for references: [ZoneReference]) throws
  /// Returns the bytes of a reference; nil if there are none.
  /// - Throws: any error, which ends the work of the store.
  func data(for reference: ZoneReference) throws -> Data?
  /// - Throws: any error, which ends the work of the store.
  func data(for references: [ZoneReference]) throws -> [Data?]
}

extension Zone {
  public func store(_ data: [Data], for references: [ZoneReference]) throws {
    for (data, reference) in zip(data, references) { try store(data, for: reference) }
  }

  public func data(for references: [ZoneReference]) throws -> [Data?] {
    try references.map { try data(for: $0) }
  }
}

public enum MapType: Hashable, Sendable {
  case valuesByVersion
  case userDefined(label: String)
}

/// A format of a store's directory: versions are files in `versions/`, values and maps are in zones.
public protocol Storage {
  /// - Throws: any error, which ends the work of the store.
  func makeValuesZone(in store: Store) throws -> any Zone
  /// - Throws: any error, which ends the work of the store.
  func makeMapZone(for type: MapType, in store: Store) throws -> any Zone
}
