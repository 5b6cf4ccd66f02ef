import Foundation
import KeyValueCRDT
import Testing

/// A program of the calls that the documentation of the original shows.
@Suite("The original's manual", .timeLimit(.minutes(1)))
struct ReadmeTests {
  struct Upgrader: ApplicationDataUpgrader {
    let expectedApplicationIdentifier = ApplicationIdentifier(
      id: "org.example.library-notes", majorVersion: 1, minorVersion: 1)

    func upgradeApplicationData(in database: KeyValueDatabase) throws {}
  }

  @Test("its calls compile, and do what it says")
  func calls() throws {
    let folder = try Folder()
    let alice = try KeyValueDatabase(
      fileURL: folder.url("alice.kvcrdt"), authorDescription: "Alice's iPhone")
    let bob = try KeyValueDatabase(
      fileURL: folder.url("bob.kvcrdt"), authorDescription: "Bob's iPhone")
    try alice.writeText("{\"value\": 42}", to: "key")
    #expect(try alice.read(key: "key").text == "{\"value\": 42}")
    #expect(try alice.read(key: "key").json == nil)
    try alice.writeText("From Alice", to: "shared")
    try bob.writeText("From Bob", to: "shared")
    try alice.merge(source: bob)
    #expect(try alice.read(key: "shared").count == 2)
    #expect(throws: KeyValueCRDTError.versionConflict) { try alice.read(key: "shared").text }
    #expect(try alice.read(key: "shared").resolved(with: .lastWriterWins)?.text != nil)
    #expect(try bob.read(key: "key").text == nil)
    try alice.writeBlob(Data(), to: "coverImage", scope: "item 1")
    try alice.writeText("scope 2 text", to: "text", scope: "item 2")
    #expect(try alice.keys(scope: "item 1") == [ScopedKey(scope: "item 1", key: "coverImage")])
    #expect(try alice.bulkRead(scope: "item 2").count == 1)
    let upgraded = try KeyValueDatabase(
      fileURL: folder.url("new.kvcrdt"), authorDescription: "Test", upgrader: Upgrader())
    #expect(try upgraded.applicationIdentifier?.minorVersion == 1)
  }
}
