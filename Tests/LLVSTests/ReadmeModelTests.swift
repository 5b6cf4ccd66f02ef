import Foundation
import LLVS
import LLVSModel
import LLVSProjection
import LLVSSQLite
import TestSupport
import Testing

/// The sections of the original's README about models and about SQLite.
@Suite("The original's README: models and SQLite", .timeLimit(.minutes(1)))
struct ReadmeModelTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  private func url(_ name: String) -> URL { URL(fileURLWithPath: directory.file(name)) }

  @MergeableModel
  struct Note: StorableModel, Codable, Equatable {
    static let modelTypeIdentifier = "Note"
    var title: String = ""
    var body: String = ""
    var updatedAt: Date = Date(timeIntervalSince1970: 1000)
    var tags: [String] = []
  }

  @Test("Models: saved, fetched, merged property by property, removed")
  func models() async throws {
    let place = MemoryExchange.Place()
    func coordinator(_ name: String) throws -> StoreCoordinator {
      let coordinator = try StoreCoordinator(withStoreDirectoryAt: url(name))
      let arbiter = MergeableArbiter()
      arbiter.register(Note.self)
      coordinator.mergeArbiter = arbiter
      coordinator.exchange = MemoryExchange(store: coordinator.store, place: place)
      return coordinator
    }
    let (phone, tablet) = (try coordinator("phone"), try coordinator("tablet"))
    try phone.save(Note(title: "a"), instanceIdentifier: "1")
    try await phone.exchange()
    try await tablet.exchange()
    try tablet.merge()
    var note = try #require(try tablet.fetchModel(Note.self, instanceIdentifier: "1"))
    note.tags = ["t"]
    try tablet.save(note, instanceIdentifier: "1")
    try phone.save(Note(title: "b"), instanceIdentifier: "1")
    try await tablet.exchange()
    try await phone.exchange()
    try phone.merge()
    #expect(try phone.fetchAllModels(Note.self) == [Note(title: "b", tags: ["t"])])
    try phone.removeModel(Note.self, instanceIdentifier: "1")
    #expect(try phone.fetchAllModels(Note.self).isEmpty)
  }

  @Test(
    "Local-First SQLite: a table that is written with SQL, drained, queried and brought up to date")
  func localFirst() throws {
    let store = try Store(rootDirectoryURL: url("store"))
    let database = try SQLiteDatabase(fileURL: url("notes.sqlite"))
    let table = OwnedTable(
      typeIdentifier: Note.modelTypeIdentifier, tableName: "notes", schema: Note.sqliteSchema)
    for statement in table.createStatements() { try database.execute(statement: statement) }
    try database.execute(statement: "CREATE INDEX notes_updated ON notes(updated_at)")
    try database.execute(
      statement: """
        INSERT INTO notes (llvs_id, title, body, updated_at, tags)
        VALUES ('1/Note', 'Old', 'b', strftime('%s', '2026-09-21'), '[]')
        """)
    let first = try #require(try table.drain(in: database, store: store, basedOn: nil).version)
    try database.execute(
      statement: "UPDATE notes SET title = ? WHERE llvs_id = ?",
      withBindingsList: [["New title", "1/Note"]])
    let second = try #require(try table.drain(in: database, store: store).version)
    let cutoff = Int64(1_700_000_000)
    let rows = try table.fetch(
      Note.self, in: database, where: "updated_at > ?", bindings: [cutoff])
    #expect(rows.map(\.model.title) == ["New title"])
    #expect(rows[0].model.updatedAt == Date(timeIntervalSince1970: 1_789_948_800))
    let changes = try store.valueChanges(updatingFrom: second, to: first)
    try table.apply(changes, in: database, atVersion: first)
    #expect(try table.fetch(Note.self, in: database)[0].model.title == "Old")
  }
}
