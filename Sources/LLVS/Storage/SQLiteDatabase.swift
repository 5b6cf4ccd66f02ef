public import Foundation
internal import SQLite

/// A connection to an SQLite file, for one thread at a time; it waits up to 5 s for other connections.
public final class SQLiteDatabase {
  /// A failure of SQLite, with its primary result code; ``errorMessage`` says what and where.
  ///
  /// Unchecked: the value is only described.
  public enum Error: Swift.Error, @unchecked Sendable {
    case openFailed(code: Int32)
    case closeFailed(code: Int32)
    case statementFailed(statement: String, code: Int32)
    case bindingFailed(bindingIndex: Int, value: Any?, code: Int32)
    case queryFailed(query: String, code: Int32)
  }

  public struct Row {
    fileprivate let values: [Any?]

    /// Returns the value of a column as a type; nil if it is null or of another type.
    /// The types are `String`, `Int64`, `Int32`, `Int`, `Double`, `Bool` and `Data`.
    public func value<T>(inColumnAtIndex index: Int) -> T? {
      guard values.indices.contains(index), let value = values[index] else { return nil }
      if let value = value as? T { return value }
      switch (value, T.self) {
      case (let number as Int64, is Int.Type): return Int(exactly: number) as? T
      case (let number as Int64, is Int32.Type): return Int32(exactly: number) as? T
      case (let number as Int64, is Bool.Type): return (number != 0) as? T
      case (let number as Int64, is Double.Type): return Double(number) as? T
      case (let text as String, is Data.Type): return Data(text.utf8) as? T
      case (let data as Data, is String.Type): return String(data: data, encoding: .utf8) as? T
      default: return nil
      }
    }
  }

  public let fileURL: URL
  public private(set) var errorMessage: String?
  // Nil once it is closed.
  private var connection: Database?

  /// Opens a file, or makes one.
  /// - Throws: ``SQLiteDatabase/Error/openFailed(code:)``.
  public convenience init(fileURL: URL) throws { try self.init(fileURL: fileURL, isTrusted: true) }

  /// Opens a file, or makes one. The schema of a file that is not trusted may be another program's.
  init(fileURL: URL, isTrusted: Bool) throws {
    self.fileURL = fileURL
    do throws(DatabaseError) {
      let database = try Database(
        path: fileURL.path, mode: .create, options: .document(patience: 5_000))
      if !isTrusted { try database.distrust() }
      connection = database
    } catch {
      errorMessage = "\(error)"
      // SQLite says 14 where the system does not open a file.
      throw Error.openFailed(code: error.code == 10 ? 14 : error.code)
    }
  }

  /// Closes the file; later calls throw.
  /// - Throws: nothing; it may in the original.
  public func close() throws { connection = nil }

  /// Executes a statement once for each list of values, or once without values.
  /// Values are `String`, integers, `Double`, `Bool`, `Data` or nil.
  /// - Throws: ``SQLiteDatabase/Error``.
  public func execute(statement: String, withBindingsList bindings: [[Any?]] = [[]]) throws {
    for values in bindings {
      try run(statement, values, Error.statementFailed(statement:code:)) { _ in }
    }
  }

  /// Calls the function with each row of a result.
  /// - Throws: ``SQLiteDatabase/Error``; the error of the function.
  public func forEach(
    matchingQuery query: String, withBindings bindings: [Any?] = [],
    rowHandler: (Row) throws -> Void
  ) throws {
    var rows: [Row] = []
    try run(query, bindings, Error.queryFailed(query:code:)) { rows.append($0) }
    for row in rows { try rowHandler(row) }
  }

  /// Executes a body in a transaction, or in a part of the open one; it is undone if the body throws.
  /// - Throws: ``SQLiteDatabase/Error``; the error of the body.
  public func inTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    let isInner = connection?.isInTransaction == true
    try execute(statement: isInner ? "SAVEPOINT llvs_part" : "BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute(statement: isInner ? "RELEASE llvs_part" : "COMMIT")
      return result
    } catch {
      // If SQLite has rolled back the transaction itself, these fail without effect.
      if isInner {
        try? execute(statement: "ROLLBACK TO llvs_part")
        try? execute(statement: "RELEASE llvs_part")
      } else {
        try? execute(statement: "ROLLBACK")
      }
      throw error
    }
  }

  private func run(
    _ sql: String, _ values: [Any?], _ failure: (String, Int32) -> Error, _ each: (Row) -> Void
  ) throws {
    do {
      guard let statement = try connection?.statement(sql) else {
        throw DatabaseError.refused(code: 21, message: "\(fileURL.path) is closed")
      }
      defer { statement.close() }
      for (index, value) in values.enumerated() {
        guard bind(value, to: statement, at: Int32(index + 1)) else {
          errorMessage = "SQLite has no type for \(value ?? "nil")"
          throw Error.bindingFailed(bindingIndex: index + 1, value: value, code: 20)
        }
      }
      while try statement.step() {
        each(Row(values: (0..<statement.columnCount).map { value(of: statement, $0) }))
      }
    } catch let error as DatabaseError {
      errorMessage = "\(error)"
      throw failure(sql, error.code)
    }
  }

  private func bind(_ value: Any?, to statement: Statement, at index: Int32) -> Bool {
    switch value {
    case nil: break
    case let text as String: statement.bind(index, text)
    case let flag as Bool: statement.bind(index, Int64(flag ? 1 : 0))
    case let number as any BinaryInteger:
      guard let number = Int64(exactly: number) else { return false }
      statement.bind(index, number)
    case let number as Double: statement.bind(index, number)
    case let data as Data: statement.bind(index, [UInt8](data))
    case .some: return false
    }
    return true
  }

  private func value(of statement: Statement, _ column: Int32) -> Any? {
    switch statement.kind(column) {
    case .null: nil
    case .integer: statement.integer(column)
    case .real: statement.real(column)
    case .text: statement.text(column)
    case .blob: Data(statement.bytes(column))
    }
  }
}
