internal import Foundation
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// A database for SQL, within a block of ``KeyValueDatabase/read(block:)`` or ``KeyValueDatabase/write(block:)``,
  /// for the application's own tables and for queries.
  ///
  /// After the block every call throws; the database of a publication can still be read.
  public final class Database: Sendable {
    private enum Source: Sendable {
      case inside(Connection, canWrite: Bool)
      case over(DatabaseWriter)
      case closed
    }

    private let source: Mutex<Source>

    init(_ connection: Connection, canWrite: Bool) {
      source = Mutex(.inside(connection, canWrite: canWrite))
    }

    init(over writer: DatabaseWriter) { source = Mutex(.over(writer)) }
    func close() { source.withLock { $0 = .closed } }

    func connection(of writer: DatabaseWriter, toWrite: Bool) throws -> Connection {
      guard case .inside(let connection, let canWrite) = source.withLock({ $0 }) else {
        throw Self.ended
      }
      guard canWrite || !toWrite else { throw Self.readOnly }
      guard writer.uses(connection) else {
        throw DatabaseError(.misuse, "the block belongs to another database")
      }
      return connection
    }

    /// Runs statements; several may be separated by semicolons if there are no arguments.
    /// - Throws: ``DatabaseError``.
    public func execute(sql: String, arguments: [DatabaseValue] = []) throws {
      try using { connection, canWrite in
        guard canWrite else { throw Self.readOnly }
        if arguments.isEmpty { return try connection.sqlite.execute(sql) }
        let statement = try connection.sqlite.statement(sql)
        defer { statement.close() }
        try Self.bind(arguments, to: statement)
        while try statement.step() {}
      }
    }

    /// Runs a query and returns its rows.
    /// - Complexity: O(*n*) time and memory in the size of the rows.
    /// - Throws: ``DatabaseError``.
    public func rows(sql: String, arguments: [DatabaseValue] = []) throws -> [Row] {
      try using { connection, canWrite in
        let statement = try connection.sqlite.statement(sql)
        defer { statement.close() }
        guard canWrite || statement.isReadOnly else { throw Self.readOnly }
        try Self.bind(arguments, to: statement)
        let columns = (0..<statement.columnCount).map { statement.name($0) }
        return try statement.all { row in
          Row(columns: columns, values: columns.indices.map { row.value(Int32($0)) })
        }
      }
    }

    /// The number of rows that this connection has changed since it was opened, by triggers too.
    /// - Throws: ``DatabaseError``.
    public var totalChangesCount: Int {
      get throws { try using { connection, _ in Int(connection.sqlite.totalChanges) } }
    }

    /// - Throws: ``DatabaseError``.
    public var lastInsertedRowID: Int64 {
      get throws { try using { connection, _ in connection.sqlite.lastInsertedRow } }
    }

    private func using<Result>(_ body: (Connection, Bool) throws -> Result) throws -> Result {
      try DatabaseError.wrapping {
        switch source.withLock({ $0 }) {
        case .inside(let connection, let canWrite): try body(connection, canWrite)
        case .over(let writer): try writer.reading { try body($0, false) }
        case .closed: throw Self.ended
        }
      }
    }

    private static func bind(_ arguments: [DatabaseValue], to statement: Statement) throws {
      guard arguments.count == statement.parameterCount else {
        throw DatabaseError(
          .misuse,
          "the statement takes \(statement.parameterCount) values and has \(arguments.count)")
      }
      for (index, argument) in arguments.enumerated() { statement.bind(Int32(index + 1), argument) }
    }

    private static let ended = DatabaseError(
      .misuse, "the block of read or write that this database was for has ended")
    private static let readOnly = DatabaseError(
      .readOnly, "the block only reads: write within write(block:)")
  }
}

extension Statement {
  func bind(_ index: Int32, _ value: DatabaseValue) {
    switch value {
    case .null: break
    case .integer(let value): bind(index, value)
    case .real(let value): bind(index, value)
    case .text(let value): bind(index, value)
    case .blob(let value): value.withUnsafeBytes { _ = bind(index, $0) }
    }
  }

  func value(_ column: Int32) -> DatabaseValue {
    switch kind(column) {
    case .null: .null
    case .integer: .integer(integer(column))
    case .real: .real(real(column))
    case .text: .text(string(column))
    case .blob: .blob(data(column))
    }
  }

  /// Text with any NUL in it; bytes that are not UTF-8 are replaced by U+FFFD.
  func string(_ column: Int32) -> String { String(decoding: utf8(column), as: UTF8.self) }
  func data(_ column: Int32) -> Data { Data(blob(column)) }
}
