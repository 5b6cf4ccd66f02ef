public import Foundation

extension KeyValueDatabase {
  /// A value of a column, or of an argument, of an SQL statement.
  public enum DatabaseValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob(Data)

    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

    public var real: Double? {
      switch self {
      case .real(let value): value
      case .integer(let value): Double(value)
      default: nil
      }
    }

    public var text: String? { if case .text(let value) = self { value } else { nil } }
    public var blob: Data? { if case .blob(let value) = self { value } else { nil } }
  }

  public struct Row: Sendable {
    private let columns: [String]
    private let values: [DatabaseValue]

    init(columns: [String], values: [DatabaseValue]) {
      self.columns = columns
      self.values = values
    }

    public var count: Int { values.count }
    public subscript(index: Int) -> DatabaseValue { values[index] }

    /// The value of the first column with this name; null without one.
    public subscript(name: String) -> DatabaseValue {
      columns.firstIndex(of: name).map { values[$0] } ?? .null
    }
  }
}

extension KeyValueDatabase.DatabaseValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self = .text(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(nilLiteral: ()) { self = .null }
}
