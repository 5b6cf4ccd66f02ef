import Foundation
import KeyValueCRDT
import Testing

private struct Upgrader: ApplicationDataUpgrader {
  var expectedApplicationIdentifier: ApplicationIdentifier
  var upgrade: @Sendable (KeyValueDatabase) throws -> Void = { _ in }

  func upgradeApplicationData(in database: KeyValueDatabase) throws { try upgrade(database) }
}

private let notes = ApplicationIdentifier(id: "org.example.notes", majorVersion: 1, minorVersion: 0)
private let notes11 = ApplicationIdentifier(
  id: "org.example.notes", majorVersion: 1, minorVersion: 1)
private let notes2 = ApplicationIdentifier(
  id: "org.example.notes", majorVersion: 2, minorVersion: 0)
private let maps = ApplicationIdentifier(id: "org.example.maps", majorVersion: 9, minorVersion: 0)

@Suite("Application identifiers", .timeLimit(.minutes(1)))
struct ApplicationTests {
  private func memory(_ identifier: ApplicationIdentifier?) throws -> KeyValueDatabase {
    let database = try KeyValueDatabase(fileURL: nil, authorDescription: "test")
    if let identifier { try database.setApplicationIdentifier(identifier) }
    return database
  }

  private func open(
    _ database: KeyValueDatabase, _ upgrader: Upgrader
  ) throws -> KeyValueDatabase {
    try KeyValueDatabase(
      databaseWriter: try database.makeMemoryDatabaseQueue(), authorDescription: "test",
      upgrader: upgrader)
  }

  @Test("what a program expects is compared with what a file has")
  func comparison() {
    #expect(notes.compare(to: nil) == .requiresUpgrade)
    #expect(notes.compare(to: notes) == .compatible)
    #expect(notes.compare(to: notes11) == .compatible)
    #expect(notes11.compare(to: notes) == .requiresUpgrade)
    #expect(notes2.compare(to: notes11) == .requiresUpgrade)
    #expect(notes.compare(to: notes2) == .currentVersionIsTooOld)
    #expect(notes.compare(to: maps) == .incompatible)
    #expect(notes < notes11 && notes11 < notes2 && maps < notes)
  }

  @Test("a file without an identifier is upgraded and gets one")
  func upgradesNewFile() throws {
    let database = try open(
      try memory(nil),
      Upgrader(expectedApplicationIdentifier: notes) { try $0.writeText("made", to: "k") })
    #expect(try database.applicationIdentifier == notes)
    #expect(try database.read(key: "k").text == "made")
  }

  @Test("older data are upgraded, later minor versions are kept")
  func upgradesOlder() throws {
    let upgraded = try open(
      try memory(notes),
      Upgrader(expectedApplicationIdentifier: notes2) { try $0.writeText("2", to: "version") })
    #expect(try upgraded.applicationIdentifier == notes2)
    #expect(try upgraded.keys == ["version"])
    let kept = try open(
      try memory(notes11),
      Upgrader(expectedApplicationIdentifier: notes) { _ in Issue.record("nothing is due") })
    #expect(try kept.applicationIdentifier == notes11)
  }

  @Test("another application's data and later data are refused")
  func refuses() throws {
    #expect(throws: KeyValueCRDTError.incompatibleApplications) {
      try open(try memory(maps), Upgrader(expectedApplicationIdentifier: notes))
    }
    #expect(throws: KeyValueCRDTError.applicationDataTooNew) {
      try open(try memory(notes2), Upgrader(expectedApplicationIdentifier: notes11))
    }
  }

  @Test("an upgrader that throws has written nothing")
  func failedUpgrade() throws {
    struct Stop: Error {}
    let folder = try Folder()
    try folder.database("a.kvcrdt").writeText("old", to: "k")
    let before = try folder.bytes("a.kvcrdt")
    #expect(throws: Stop.self) {
      try KeyValueDatabase(
        fileURL: folder.url("a.kvcrdt"), authorDescription: "new",
        upgrader: Upgrader(expectedApplicationIdentifier: notes) { database in
          try database.writeText("new", to: "k")
          try database.bulkWrite(["a": "1", "b": "2"])
          try database.eraseVersionHistory()
          throw Stop()
        })
    }
    #expect(try folder.bytes("a.kvcrdt") == before)
    #expect(try folder.database("a.kvcrdt").applicationIdentifier == nil)
  }

  @Test("an identifier is replaced, with its description")
  func replaced() throws {
    let database = try memory(notes)
    var other = maps
    other.applicationDescription = "Maps"
    try database.setApplicationIdentifier(other)
    #expect(try database.applicationIdentifier == other)
  }

  @Test("merges go by the identifiers of both")
  func merges() throws {
    var described = notes
    described.applicationDescription = "Notes"
    let cases: [(ApplicationIdentifier?, ApplicationIdentifier?, KeyValueCRDTError?)] = [
      (nil, nil, nil), (notes, notes, nil), (described, described, nil),
      (notes, notes2, .mergeSourceIncompatible), (notes2, notes, .mergeSourceRequiresUpgrade),
      (notes11, notes, .mergeSourceRequiresUpgrade), (notes, notes11, .incompatibleApplications),
      (nil, notes, .incompatibleApplications), (notes, nil, .incompatibleApplications),
      (notes, maps, .incompatibleApplications), (notes, described, .incompatibleApplications),
    ]
    for (mine, theirs, error) in cases {
      let receiver = try memory(mine)
      let source = try memory(theirs)
      try source.writeText("v", to: "k")
      for dryRun in [true, false] {
        if let error {
          #expect(throws: error) { try receiver.merge(source: source, dryRun: dryRun) }
          #expect(try receiver.statistics.authorCount == 0)
        } else {
          #expect(try receiver.merge(source: source, dryRun: dryRun) == ["k"])
        }
      }
    }
  }
}
