internal import Foundation

/// The original's format with one SQLite file for values and one for the map; see ``SQLiteZone``.
public struct SQLiteStorage: Storage, Sendable {
  public init() {}

  public func makeValuesZone(in store: Store) throws -> any Zone {
    try SQLiteZone(in: store.valuesDirectoryURL)
  }

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
