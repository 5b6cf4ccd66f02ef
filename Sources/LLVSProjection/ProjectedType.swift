public import LLVS

public enum SQLiteValue: Hashable, Sendable {
  case text(String)
  case integer(Int64)
  case real(Double)
  case null
}

public struct ProjectedColumn: Hashable, Sendable {
  public let name: String
  /// The type in SQLite with its constraints, for example `TEXT` or `INTEGER NOT NULL`.
  public let declaration: String

  public init(name: String, declaration: String) {
    self.name = name
    self.declaration = declaration
  }
}

/// The rows of a table for searching and sorting values of one type.
public struct ProjectedType: Sendable {
  /// The text after the last `/` in the keys of the type's values.
  public let typeIdentifier: String
  public let tableName: String
  public let columns: [ProjectedColumn]
  /// Returns the columns of a value by name; a value for which it throws has no row.
  public let extract: @Sendable (Value) throws -> [String: SQLiteValue]

  /// Describes a type.
  /// - Precondition: names are ASCII letters, digits and underscores, without a digit at the beginning.
  public init(
    typeIdentifier: String, tableName: String, columns: [ProjectedColumn],
    extract: @escaping @Sendable (Value) throws -> [String: SQLiteValue]
  ) {
    for name in [tableName] + columns.map(\.name) {
      precondition(Self.isPlain(name), "\(name) cannot be the name of a table or of a column")
    }
    self.typeIdentifier = typeIdentifier
    self.tableName = tableName
    self.columns = columns
    self.extract = extract
  }

  static func isPlain(_ name: String) -> Bool {
    guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return name.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || byte == UInt8(ascii: "_")
    }
  }

  public func createTableStatement() -> String {
    let all = ["llvs_id TEXT PRIMARY KEY"] + columns.map { "\($0.name) \($0.declaration)" }
    return "CREATE TABLE IF NOT EXISTS \(tableName) (\(all.joined(separator: ", ")))"
  }

  var replaceStatement: String {
    let names = ["llvs_id"] + columns.map(\.name)
    let places = Array(repeating: "?", count: names.count).joined(separator: ", ")
    return "INSERT OR REPLACE INTO \(tableName) (\(names.joined(separator: ", "))) "
      + "VALUES (\(places))"
  }
}
