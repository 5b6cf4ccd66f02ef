internal import Foundation
internal import LLVS
internal import LLVSModel

extension OwnedTable {
  typealias JSONObject = [String: Any]

  var columnList: String {
    (["llvs_id"] + schema.columns.map(\.columnName)).joined(separator: ", ")
  }

  static func object(of data: Data) -> JSONObject? {
    (try? JSONSerialization.jsonObject(with: data)) as? JSONObject
  }

  /// Returns an object with the properties of a row over those of another object.
  func object(of row: SQLiteDatabase.Row, over base: JSONObject) throws -> JSONObject {
    var object = base
    for (index, column) in schema.columns.enumerated() {
      let any: Any? = row.value(inColumnAtIndex: index + 1)
      guard any != nil else {
        object[column.propertyName] = nil
        continue
      }
      guard let value = Self.json(of: row, at: index + 1, column.storage) else {
        let id: String = row.value(inColumnAtIndex: 0) ?? ""
        throw Store.Error.invalid(
          "the column \(column.columnName) of the row \(id) in \(tableName) is no "
            + "\(column.storage): correct it with an UPDATE")
      }
      object[column.propertyName] = value
    }
    return object
  }

  private static func json(
    of row: SQLiteDatabase.Row, at index: Int, _ storage: ColumnStorage
  ) -> Any? {
    switch storage {
    case .text, .uuid: return row.value(inColumnAtIndex: index) as String?
    case .integer: return row.value(inColumnAtIndex: index) as Int64?
    case .real: return row.value(inColumnAtIndex: index) as Double?
    case .boolean: return (row.value(inColumnAtIndex: index) as Int64?).map { $0 != 0 }
    case .blob: return (row.value(inColumnAtIndex: index) as Data?)?.base64EncodedString()
    case .date:
      return (row.value(inColumnAtIndex: index) as Double?).map {
        $0 - Date.timeIntervalBetween1970AndReferenceDate
      }
    case .json:
      guard let text: String = row.value(inColumnAtIndex: index) else { return nil }
      return try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }
  }

  /// Nil, which is null, for a property that is missing or of another kind.
  static func binding(of property: Any?, _ storage: ColumnStorage) -> Any? {
    guard let property, !(property is NSNull) else { return nil }
    switch storage {
    case .text, .uuid: return property as? String
    case .integer: return (property as? NSNumber)?.int64Value
    case .real: return (property as? NSNumber)?.doubleValue
    case .boolean: return (property as? NSNumber).map { $0.boolValue ? Int64(1) : 0 }
    case .blob: return (property as? String).flatMap { Data(base64Encoded: $0) }
    case .date:
      // Keeps the fraction of a second.
      return (property as? NSNumber).map { number -> Any in
        let seconds = number.doubleValue + Date.timeIntervalBetween1970AndReferenceDate
        return Int64(exactly: seconds) ?? seconds
      }
    case .json:
      return
        (try? JSONSerialization.data(
          withJSONObject: property,
          options: [.sortedKeys, .fragmentsAllowed, .withoutEscapingSlashes]))
        .map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Equal objects have equal bytes.
  static func data(of object: JSONObject) throws -> Data {
    try JSONSerialization.data(
      withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
  }
}
