public enum ColumnStorage: Hashable, Sendable {
  case text
  case integer
  case real
  case blob
  /// 0 or 1; in JSON it is `true` or `false`.
  case boolean
  /// Seconds since 1970, as in SQLite; in JSON since 2001, as in `Codable`.
  case date
  case uuid
  /// A text of JSON, for a type without a column type of its own.
  case json

  public var declaration: String {
    switch self {
    case .text, .uuid, .json: "TEXT"
    case .integer, .boolean, .date: "INTEGER"
    case .real: "REAL"
    case .blob: "BLOB"
    }
  }
}

public struct ModelColumn: Hashable, Sendable {
  /// The name of the property, which is its key in the value's JSON.
  public let propertyName: String
  public let columnName: String
  public let storage: ColumnStorage

  public var declaration: String { storage.declaration }

  public init(propertyName: String, columnName: String, storage: ColumnStorage) {
    self.propertyName = propertyName
    self.columnName = columnName
    self.storage = storage
  }
}

/// The columns of a model's table; `@MergeableModel` generates it as `sqliteSchema`.
public struct ModelSchema: Hashable, Sendable {
  public let columns: [ModelColumn]
  public let propertiesWithoutColumns: [String]
  /// Properties kept as JSON, with their written types; also other names of `String`.
  public let propertiesStoredAsJSON: [String: String]

  public init(
    columns: [ModelColumn], propertiesWithoutColumns: [String] = [],
    propertiesStoredAsJSON: [String: String] = [:]
  ) {
    self.columns = columns
    self.propertiesWithoutColumns = propertiesWithoutColumns
    self.propertiesStoredAsJSON = propertiesStoredAsJSON
  }
}
