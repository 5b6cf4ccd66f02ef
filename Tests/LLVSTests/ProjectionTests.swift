import Foundation
import LLVS
import LLVSModel
import LLVSProjection
import LLVSSQLite
import TestSupport
import Testing

/// Tables that are kept at a version.
@Suite("Projections", .timeLimit(.minutes(1)))
struct ProjectionTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let database: SQLiteDatabase

  private struct Contact: StorableModel {
    static let modelTypeIdentifier = "Contact"
    var name: String
    var age: Int
  }

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try Store(rootDirectoryURL: URL(fileURLWithPath: directory.file("s")))
    database = try SQLiteDatabase(fileURL: URL(fileURLWithPath: directory.file("q.sqlite")))
  }

  private let type = ProjectedType(
    typeIdentifier: Contact.modelTypeIdentifier, tableName: "contacts",
    columns: [
      ProjectedColumn(name: "name", declaration: "TEXT NOT NULL"),
      ProjectedColumn(name: "age", declaration: "INTEGER"),
    ],
    extract: { value in
      let contact = try JSONDecoder().decode(Contact.self, from: value.data)
      return ["name": .text(contact.name), "age": .integer(Int64(contact.age))]
    })

  private func value(_ id: String, _ name: String, _ age: Int) throws -> Value {
    Value(
      id: modelValueID(typeIdentifier: "Contact", instanceIdentifier: id),
      data: try JSONEncoder().encode(Contact(name: name, age: age)))
  }

  private func rows(_ query: String = "SELECT name, age FROM contacts ORDER BY name") throws
    -> [String]
  {
    var rows: [String] = []
    try database.forEach(matchingQuery: query) { row in
      let name: String? = row.value(inColumnAtIndex: 0)
      let age: Int? = row.value(inColumnAtIndex: 1)
      rows.append("\(name ?? "-") \(age ?? -1)")
    }
    return rows
  }

  @Test("tables follow versions forth, back and sideways, and unreadable values have no row")
  func following() throws {
    let projector = try Projector(database: database, store: store, types: [type], schemaVersion: 1)
    #expect(try projector.projectedVersion() == nil)
    let root = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: [
        try value("1", "Ann", 30), try value("2", "Bob", 40),
        Value(idString: "3/Contact", data: Data("{}".utf8)),
        Value(idString: "other", data: Data()),
      ])
    let first = try projector.update(to: root.id)
    #expect(first.appliedCount == 2 && first.unreadableIds == [Value.ID("3/Contact")])
    #expect(try rows() == ["Ann 30", "Bob 40"])
    let one = try store.makeVersion(
      basedOnPredecessor: root.id, updating: [try value("1", "Anna", 31)],
      removing: [try value("2", "", 0).id])
    let other = try store.makeVersion(
      basedOnPredecessor: root.id, inserting: [try value("4", "Dan", 1)],
      updating: [Value(id: try value("1", "", 0).id, data: Data())])
    try projector.update(to: one.id)
    #expect(try rows() == ["Anna 31"])
    try projector.update(to: other.id)
    #expect(try rows() == ["Bob 40", "Dan 1"])
    try projector.update(to: root.id)
    #expect(try rows() == ["Ann 30", "Bob 40"])
    #expect(try projector.update(to: root.id).appliedCount == 0)
    #expect(try projector.projectedVersion() == root.id)
  }

  @Test("a failure leaves the tables as they were, and other columns make them anew")
  func failure() throws {
    let root = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [try value("1", "Ann", 30)])
    let next = try store.makeVersion(
      basedOnPredecessor: root.id,
      inserting: [try value("2", "Bob", 40), try value("3", "Cid", 50)])
    let projector = try Projector(database: database, store: store, types: [type], schemaVersion: 1)
    try projector.update(to: root.id)
    try database.execute(
      statement: """
        CREATE TRIGGER blocked BEFORE INSERT ON contacts WHEN new.name = 'Cid'
        BEGIN SELECT RAISE(ABORT, 'blocked'); END
        """)
    #expect(throws: SQLiteDatabase.Error.self) { try projector.update(to: next.id) }
    #expect(try rows() == ["Ann 30"])
    #expect(try projector.projectedVersion() == root.id)
    try database.execute(statement: "DROP TRIGGER blocked")
    try projector.update(to: next.id)
    #expect(try rows().count == 3)
    let wider = ProjectedType(
      typeIdentifier: "Contact", tableName: "contacts",
      columns: type.columns + [ProjectedColumn(name: "initial", declaration: "TEXT")],
      extract: { value in
        let contact = try JSONDecoder().decode(Contact.self, from: value.data)
        return ["name": .text(contact.name), "initial": .text(String(contact.name.prefix(1)))]
      })
    let second = try Projector(
      database: database, store: store, types: [wider], schemaVersion: 2)
    try second.update(to: next.id)
    #expect(
      try rows("SELECT initial, age FROM contacts ORDER BY name") == ["A -1", "B -1", "C -1"])
    #expect(try second.storedSchemaVersion() == 2)
  }
}
