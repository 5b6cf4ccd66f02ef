internal import Foundation
public import LLVS
public import LLVSModel

public struct ModelRow<Model: StorableModel & Sendable>: Sendable {
  public let model: Model
  public let id: Value.ID
  public let version: Version.ID?
}

extension OwnedTable {
  /// Returns rows as instances, in the order of the query, without those that cannot be read as the type.
  /// The clause is the SQL after `WHERE`, and may end with `ORDER BY`. The version is returned with each row.
  /// - Throws: ``SQLiteDatabase/Error``.
  public func fetch<Model: StorableModel & Sendable>(
    _ type: Model.Type, in database: SQLiteDatabase, where clause: String? = nil,
    bindings: [Any?] = [], atVersion version: Version.ID? = nil
  ) throws -> [ModelRow<Model>] {
    let condition = clause.map { " WHERE \($0)" } ?? ""
    var rows: [ModelRow<Model>] = []
    try database.forEach(
      matchingQuery: "SELECT \(columnList) FROM \(tableName)\(condition)", withBindings: bindings
    ) { row in
      guard let id: String = row.value(inColumnAtIndex: 0),
        let object = try? object(of: row, over: [:]),
        let data = try? Self.data(of: object),
        let model = try? JSONDecoder().decode(type, from: data)
      else { return }
      rows.append(ModelRow(model: model, id: Value.ID(id), version: version))
    }
    return rows
  }
}
