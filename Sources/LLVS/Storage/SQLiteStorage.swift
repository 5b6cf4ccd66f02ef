internal import Foundation

/// The original's format of SQLite files: one for values and one for the map, each with a table of
/// keys, versions and bytes.
///
/// Versions are described by files, as in ``FileStorage``.
public struct SQLiteStorage: Storage, Sendable {
  /// Creates a storage.
  public init() {}

  /// Makes the zone in `values/zone.sqlite`.
  public func makeValuesZone(in store: Store) throws -> any Zone {
    try SQLiteZone(in: store.valuesDirectoryURL)
  }

  /// Makes the zone in `maps/__llvs_values/zone.sqlite`, or in a directory with the label of the
  /// map.
  ///
  /// - Throws: ``Store/Error/invalid(_:)`` for a label that cannot be the name of a directory.
  public func makeMapZone(for type: MapType, in store: Store) throws -> any Zone {
    switch type {
    case .valuesByVersion: return try SQLiteZone(in: store.valuesMapDirectoryURL)
    case .userDefined(let label):
      guard !label.isEmpty, !label.hasPrefix("."), !label.contains("/") else {
        throw Store.Error.invalid("\(label) cannot be the name of a directory")
      }
      return try SQLiteZone(in: store.mapsDirectoryURL.appendingPathComponent(label))
    }
  }
}
