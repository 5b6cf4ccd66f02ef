import Foundation
import LLVS
import LLVSModel
import LLVSProjection
import LLVSSQLite
import TestSupport
import Testing

/// Tables that a program writes with SQL, whose changes become versions.
@Suite("Owned tables", .timeLimit(.minutes(1)))
struct OwnedTableTests {
  @MergeableModel
  struct Note: StorableModel, Codable, Equatable {
    static let modelTypeIdentifier = "Note"
    var title: String = ""
    var body: String?
    var updatedAt: Date = Date(timeIntervalSince1970: 0)
    var tags: [String] = []
    var starred: Bool = false
    var ratio: Double = 0
    var picture: Data?
    var owner: UUID?
    var count = 7
  }

  private let directory: TemporaryDirectory
  private let store: Store
  private let database: SQLiteDatabase
  private let table = OwnedTable(
    typeIdentifier: Note.modelTypeIdentifier, tableName: "notes", schema: Note.sqliteSchema)

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try Store(rootDirectoryURL: URL(fileURLWithPath: directory.file("s")))
    database = try SQLiteDatabase(fileURL: URL(fileURLWithPath: directory.file("q.sqlite")))
    for statement in table.createStatements() { try database.execute(statement: statement) }
  }

  private func execute(_ statement: String, _ values: Any?...) throws {
    try database.execute(statement: statement, withBindingsList: [values])
  }

  private func insert(_ id: String, _ title: String) throws {
    try execute(
      """
      INSERT INTO notes (llvs_id, title, updated_at, tags, starred, ratio)
      VALUES (?, ?, 1758400000, '["a","b"]', 1, 0.5)
      """, "\(id)/Note", title)
  }

  private func text(_ query: String) throws -> [String] {
    var rows: [String] = []
    try database.forEach(matchingQuery: query) { row in
      rows.append(row.value(inColumnAtIndex: 0) ?? "-")
    }
    return rows
  }

  private func json(_ id: String, _ version: Version.ID?) throws -> [String: Any] {
    let version = try #require(version)
    let value = try #require(try store.value(idString: "\(id)/Note", at: version))
    return try #require(try JSONSerialization.jsonObject(with: value.data) as? [String: Any])
  }

  @Test("rows become values that decode as the model, and a version of all changes")
  func draining() throws {
    #expect(try table.drain(in: database, store: store) == table.drain(in: database, store: store))
    try insert("1", "Hello")
    try insert("2", "gone again")
    try execute("DELETE FROM notes WHERE llvs_id = '2/Note'")
    let first = try table.drain(in: database, store: store)
    #expect(first.changeCount == 1)
    #expect(try table.changelogEntries(in: database).isEmpty)
    let object = try json("1", first.version)
    #expect(object["body"] == nil && object["starred"] as? Bool == true)
    #expect((object["updatedAt"] as? NSNumber)?.doubleValue == 780_092_800.0)
    // Several changes of a row are one, and a row may get another key.
    try execute("UPDATE notes SET title = 'One' WHERE llvs_id = '1/Note'")
    try execute("UPDATE notes SET title = 'Two', body = 'b' WHERE llvs_id = '1/Note'")
    #expect(
      try table.changelogEntries(in: database).map(\.columnName) == ["title", "title", "body"])
    let second = try table.drain(in: database, store: store)
    #expect(second.changeCount == 1)
    #expect(try json("1", second.version)["title"] as? String == "Two")
    try execute("UPDATE notes SET llvs_id = '3/Note' WHERE llvs_id = '1/Note'")
    let third = try table.drain(in: database, store: store)
    let head = try #require(third.version)
    #expect(third.changeCount == 2)
    #expect(try json("3", head)["body"] as? String == "b")
    #expect(try store.value(idString: "1/Note", at: head) == nil)
    // Removed and inserted again, and what is as it was, is no removal and no version.
    try execute("DELETE FROM notes WHERE llvs_id = '3/Note'")
    try insert("3", "Reborn")
    let fourth = try table.drain(in: database, store: store)
    #expect(try json("3", fourth.version)["title"] as? String == "Reborn")
    try execute("UPDATE notes SET title = 'x'")
    try execute("UPDATE notes SET title = 'Reborn'")
    #expect(try table.drain(in: database, store: store).version == nil)
    #expect(try table.currentVersion(in: database) == fourth.version)
    // Each version stands on the one before.
    #expect(store.queryHistory { $0.headIdentifiers }.count == 1)
    #expect(store.queryHistory { $0.allVersionIdentifiers }.count == 4)
  }

  @Test("what is rolled back is in no version, and rows of other types and keys are refused")
  func transactions() throws {
    try insert("1", "kept")
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try database.inTransaction {
        try insert("2", "dropped")
        throw Stop()
      }
    }
    #expect(throws: SQLiteDatabase.Error.self) {
      try execute("INSERT INTO notes (llvs_id) VALUES ('x')")
    }
    #expect(throws: SQLiteDatabase.Error.self) {
      try execute("INSERT INTO notes (llvs_id) VALUES (NULL)")
    }
    #expect(try table.drain(in: database, store: store).changeCount == 1)
  }

  @Test("changes from elsewhere come into the table, and are not noted as the program's")
  func applying() throws {
    try insert("1", "Hello")
    let first = try #require(try table.drain(in: database, store: store).version)
    let note = Note(
      title: "Far", body: "b", updatedAt: Date(timeIntervalSince1970: 10.25), tags: ["z/y"],
      starred: true, ratio: 2, picture: Data([0, 255]), owner: UUID(), count: 9)
    func value(_ id: String, _ data: Data) -> Value { Value(idString: id, data: data) }
    let remote = try store.makeVersion(
      basedOnPredecessor: first,
      inserting: [
        value("2/Note", try JSONEncoder().encode(note)), value("3/Note", Data("no JSON".utf8)),
        value("4/Other", Data("{}".utf8)),
      ])
    let changes = try store.valueChanges(updatingFrom: first, to: remote.id)
    #expect(try table.apply(changes, in: database, atVersion: remote.id) == 1)
    #expect(try table.changelogEntries(in: database).isEmpty)
    #expect(try table.currentVersion(in: database) == remote.id)
    var rows = try table.fetch(
      Note.self, in: database, where: "updated_at < ? ORDER BY llvs_id", bindings: [100],
      atVersion: remote.id)
    // The default of a property without a column is not what was stored.
    #expect(rows.isEmpty, "count has no column, and so is missing in what is decoded")
    // What has no column, and what nobody knows here, is kept in the value.
    try execute("UPDATE notes SET title = 'Near' WHERE llvs_id = '2/Note'")
    let merged = try table.drain(in: database, store: store)
    let mergedID = try #require(merged.version)
    let stored = try #require(try store.value(idString: "2/Note", at: mergedID))
    var wanted = note
    wanted.title = "Near"
    #expect(try JSONDecoder().decode(Note.self, from: stored.data) == wanted)
    #expect(stored.storedVersionId == mergedID)
    #expect(try store.version(identifiedBy: mergedID)?.predecessors?.idOfFirst == remote.id)
    // Back to the first version.
    let back = try store.valueChanges(updatingFrom: mergedID, to: first)
    #expect(try table.apply(back, in: database, atVersion: first) == 2)
    #expect(try text("SELECT llvs_id FROM notes") == ["1/Note"])
    rows = try table.fetch(Note.self, in: database)
    #expect(rows.isEmpty)
  }

  @Test("a change that no version has is not overwritten by one from elsewhere")
  func pending() throws {
    try insert("1", "Hello")
    let first = try #require(try table.drain(in: database, store: store).version)
    try execute("UPDATE notes SET title = 'mine'")
    let other = try store.makeVersion(
      basedOnPredecessor: first,
      inserting: [Value(idString: "2/Note", data: Data("{}".utf8))],
      updating: [Value(idString: "1/Note", data: Data("{\"title\":\"theirs\"}".utf8))])
    let changes = try store.valueChanges(updatingFrom: first, to: other.id)
    #expect(throws: Store.Error.self) {
      try table.apply(changes, in: database, atVersion: other.id)
    }
    #expect(try text("SELECT title FROM notes") == ["mine"])
    #expect(try table.currentVersion(in: database) == first)
    // Drained first, both are there, and the store merges them.
    let mine = try #require(try table.drain(in: database, store: store).version)
    let arbiter = MergeableArbiter()
    let merged = try store.merge(version: mine, with: other.id, resolvingWith: arbiter)
    try table.apply(
      try store.valueChanges(updatingFrom: mine, to: merged.id), in: database, atVersion: merged.id)
    #expect(try text("SELECT llvs_id FROM notes ORDER BY 1") == ["1/Note", "2/Note"])
  }

  @Test("columns that two devices changed are merged one by one")
  func columns() throws {
    try insert("1", "Hello")
    let base = try #require(try table.drain(in: database, store: store).version)
    let old = try #require(try store.value(idString: "1/Note", at: base))
    var object = try #require(try JSONSerialization.jsonObject(with: old.data) as? [String: Any])
    object["body"] = "theirs"
    object["count"] = 1
    let other = try store.makeVersion(
      basedOnPredecessor: base,
      updating: [
        Value(idString: "1/Note", data: try JSONSerialization.data(withJSONObject: object))
      ])
    try execute("UPDATE notes SET title = 'mine'")
    let mine = try #require(try table.drain(in: database, store: store).version)
    struct Columns: StorableModel, Codable, Equatable, Mergeable {
      static let modelTypeIdentifier = "Note"
      var title: String
      var body: String?
      func merged(withSubordinate other: Self, commonAncestor: Self) throws -> Self {
        Columns(
          title: try mergeProperty(title, other.title, commonAncestor.title),
          body: try mergeProperty(body, other.body, commonAncestor.body))
      }
    }
    let arbiter = MergeableArbiter()
    arbiter.register(Columns.self)
    let merged = try store.merge(version: mine, with: other.id, resolvingWith: arbiter)
    try table.apply(
      try store.valueChanges(updatingFrom: mine, to: merged.id), in: database, atVersion: merged.id)
    #expect(try text("SELECT title || body FROM notes") == ["minetheirs"])
  }

  @Test("a drain that the end of the program cut off is not made again")
  func crash() throws {
    try insert("1", "Hello")
    let first = try #require(try table.drain(in: database, store: store).version)
    try insert("2", "World")
    let before = try text("SELECT group_concat(llvs_id || op || seq) FROM notes_changelog")
    // The file as it is on the disk once the version is made, and the transaction is not ended: a
    // trigger sees to that.
    try execute(
      "CREATE TRIGGER cut BEFORE DELETE ON notes_changelog BEGIN SELECT RAISE(ABORT, 'cut'); END")
    #expect(throws: SQLiteDatabase.Error.self) { try table.drain(in: database, store: store) }
    try execute("DROP TRIGGER cut")
    #expect(store.queryHistory { $0.allVersionIdentifiers }.count == 2)
    #expect(try text("SELECT group_concat(llvs_id || op || seq) FROM notes_changelog") == before)
    #expect(try table.currentVersion(in: database) == first)
    // Changes since are in the next version, which stands on the one that was made.
    try insert("3", "Later")
    let next = try table.drain(in: database, store: store)
    #expect(next.changeCount == 1)
    #expect(store.queryHistory { $0.allVersionIdentifiers }.count == 3)
    #expect(store.queryHistory { $0.headIdentifiers } == [next.version])
    #expect(try json("2", next.version)["title"] as? String == "World")
    // One that failed before there was a version is made anew.
    try insert("4", "Last")
    try execute("UPDATE notes SET starred = 'perhaps' WHERE llvs_id = '4/Note'")
    #expect(throws: Store.Error.self) { try table.drain(in: database, store: store) }
    try execute("UPDATE notes SET starred = 0 WHERE llvs_id = '4/Note'")
    #expect(try table.drain(in: database, store: store).changeCount == 1)
    #expect(store.queryHistory { $0.headIdentifiers }.count == 1)
  }

  @Test("a failure within what is applied leaves the noting of changes as it was")
  func suppression() throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try table.whileApplyingRemoteChanges(in: database) {
        try database.inTransaction { try insert("1", "quiet") }
        throw Stop()
      }
    }
    #expect(try text("SELECT llvs_id FROM notes").isEmpty)
    try table.whileApplyingRemoteChanges(in: database) { try insert("1", "quiet") }
    #expect(try table.changelogEntries(in: database).isEmpty)
    try insert("2", "noted")
    #expect(try table.changelogEntries(in: database).map(\.operation) == [.insert])
    try table.clearChangelog(in: database, throughSequence: 0)
    #expect(try table.changelogEntries(in: database).count == 1)
    try table.clearChangelog(in: database)
    #expect(try table.changelogEntries(in: database).isEmpty)
  }

  @Test("several tables are drained one after the other")
  func several() throws {
    let other = OwnedTable(
      typeIdentifier: "Tag", tableName: "tags",
      schema: ModelSchema(columns: [
        ModelColumn(propertyName: "label", columnName: "label", storage: .json),
        ModelColumn(propertyName: "size", columnName: "size", storage: .integer),
      ]))
    for statement in other.createStatements() { try database.execute(statement: statement) }
    try insert("1", "Hello")
    try execute("INSERT INTO tags VALUES ('1/Tag', '\"a scalar\"', 3)")
    let projector = try Projector(database: database, store: store, types: [], schemaVersion: 1)
    #expect(try projector.drainOwnedTables(store: store, basedOn: nil) == nil)
    projector.registerOwnedTable(table)
    projector.registerOwnedTable(other)
    let version = try #require(try projector.drainOwnedTables(store: store, basedOn: nil))
    #expect(try store.valueReferences(at: version).count == 2)
    #expect(
      try store.value(idString: "1/Tag", at: version)?.data
        == Data("{\"label\":\"a scalar\",\"size\":3}".utf8))
    #expect(try projector.drainOwnedTables(store: store, basedOn: version) == version)
  }

  @Test("a table for a model whose columns are all there is read as the model")
  func typedReads() throws {
    struct Tag: StorableModel, Codable, Equatable {
      static let modelTypeIdentifier = "Tag"
      var label: String
      var seen: Date?
    }
    let tags = OwnedTable(
      typeIdentifier: "Tag", tableName: "tags",
      schema: ModelSchema(columns: [
        ModelColumn(propertyName: "label", columnName: "label", storage: .text),
        ModelColumn(propertyName: "seen", columnName: "seen", storage: .date),
      ]))
    for statement in tags.createStatements() { try database.execute(statement: statement) }
    try execute(
      "INSERT INTO tags VALUES ('1/Tag', 'a', 12.5), ('2/Tag', NULL, 1), ('3/Tag', 'c', NULL)")
    let rows = try tags.fetch(
      Tag.self, in: database, where: "llvs_id > ? ORDER BY llvs_id DESC", bindings: [""])
    #expect(rows.map(\.id.rawValue) == ["3/Tag", "1/Tag"])
    #expect(
      rows.map(\.model) == [
        Tag(label: "c", seen: nil), Tag(label: "a", seen: Date(timeIntervalSince1970: 12.5)),
      ])
    try database.close()
    #expect(throws: SQLiteDatabase.Error.self) { try tags.fetch(Tag.self, in: database) }
  }
}
