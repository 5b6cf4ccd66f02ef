public import Foundation

/// A value of a column, or of an argument, of an SQL statement.
public enum DatabaseValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)

  /// The whole number, nil for other kinds.
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// The number, whole or not; nil for other kinds.
  public var real: Double? {
    switch self {
    case .real(let value): value
    case .integer(let value): Double(value)
    default: nil
    }
  }

  /// The text, nil for other kinds.
  public var text: String? { if case .text(let value) = self { value } else { nil } }

  /// The bytes, nil for other kinds.
  public var blob: Data? { if case .blob(let value) = self { value } else { nil } }
}

extension DatabaseValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
  /// Creates text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// An integer literal.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A floating-point literal.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// Creates no value.
  public init(nilLiteral: ()) { self = .null }
}

/// A row of an SQL statement's result.
public struct Row: Sendable {
  private let columns: [String]
  private let values: [DatabaseValue]

  init(columns: [String], values: [DatabaseValue]) {
    self.columns = columns
    self.values = values
  }

  /// The number of columns.
  public var count: Int { values.count }
  /// The value of a column, from 0.
  public subscript(index: Int) -> DatabaseValue { values[index] }

  /// The value of the first column with this name; null without one.
  public subscript(name: String) -> DatabaseValue {
    columns.firstIndex(of: name).map { values[$0] } ?? .null
  }
}
