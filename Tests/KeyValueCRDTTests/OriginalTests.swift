import Foundation
import KeyValueCRDT
import Testing

/// What the tests of the original library check, under the names they have there.
@Suite("The original's tests", .timeLimit(.minutes(1)))
struct OriginalTests {
  private func memory(_ name: String) throws -> KeyValueDatabase {
    try KeyValueDatabase(fileURL: nil, authorDescription: name)
  }

  @Test("a text that was written is read")
  func testSimpleStorage() throws {
    let database = try memory("test")
    try database.writeText("Hello, world!", to: "key")
    #expect(try database.read(key: "key").map(\.value) == [.text("Hello, world!")])
  }

  @Test("several writes of one author make one version")
  func testMultipleWritesFromOneAuthorMakeOneVersion() throws {
    let database = try memory("test")
    try database.writeText("Hello, world!", to: "key")
    try database.writeText("Goodbye, world!", to: "key")
    #expect(try database.read(key: "key").count == 1)
    #expect(try database.read(key: "key").text == "Goodbye, world!")
    #expect(try database.read(key: "key").json == nil)
  }

  @Test("a deleted key is read as deleted")
  func testDelete() throws {
    let database = try memory("test")
    try database.writeText("Hello, world!", to: "key")
    try database.delete(key: "key")
    #expect(try database.read(key: "key").isDeleted)
  }

  @Test("a merge brings the other's keys, and both versions of a key that both wrote")
  func testMerge() throws {
    let alice = try memory("Alice")
    let bob = try memory("Bob")
    try alice.writeText("alice", to: "alice")
    try alice.writeText("alice shared", to: "shared")
    try bob.writeText("bob", to: "bob")
    try bob.writeText("bob shared", to: "shared")
    #expect(try !alice.dominates(other: bob))
    #expect(try !bob.dominates(other: alice))
    try alice.merge(source: bob)
    #expect(try alice.dominates(other: bob))
    #expect(try !bob.dominates(other: alice))
    #expect(try alice.read(key: "alice").text == "alice")
    #expect(try alice.read(key: "bob").text == "bob")
    #expect(try alice.read(key: "shared").count == 2)
    #expect(try alice.keys == ["alice", "bob", "shared"])
  }

  private func original() throws -> (original: KeyValueDatabase, modified: KeyValueDatabase) {
    let original = try memory("Alice")
    try original.writeText("Version 1", to: "test")
    let modified = try KeyValueDatabase(
      databaseWriter: try original.makeMemoryDatabaseQueue(), authorDescription: "Alice")
    try modified.writeText("Version 2", to: "test")
    return (original, modified)
  }

  @Test("a merge with an older copy changes nothing")
  func testMergeDoesNotAllowTimeTravel() throws {
    let (original, modified) = try original()
    try modified.merge(source: original)
    #expect(try original.read(key: "test").text == "Version 1")
    #expect(try modified.read(key: "test").text == "Version 2")
  }

  @Test("a merge with a newer copy brings its values")
  func testMergeWillMoveForwardInTime() throws {
    let (original, modified) = try original()
    try original.merge(source: modified)
    #expect(try original.read(key: "test").text == "Version 2")
    #expect(try modified.read(key: "test").text == "Version 2")
  }

  @Test("what is written after a merge is newer than what was merged")
  func testMergeUpdatesAuthorRecord() throws {
    let (original, modified) = try original()
    for count in 3...100 { try modified.writeText("Version \(count)", to: "test") }
    try original.merge(source: modified)
    #expect(try original.read(key: "test").text == "Version 100")
    try original.writeText("Modified after merge", to: "test")
    try modified.merge(source: original)
    #expect(try modified.read(key: "test").text == "Modified after merge")
  }

  @Test("a deletion arrives")
  func testCreateDeleteUpdates() throws {
    let alice = try memory("Alice")
    let bob = try memory("Bob")
    try alice.writeText("v1", to: "test")
    try bob.merge(source: alice)
    try bob.delete(key: "test")
    try alice.merge(source: bob)
    #expect(try alice.read(key: "test").isDeleted)
  }

  private func deletedAndChanged() throws -> (alice: KeyValueDatabase, bob: KeyValueDatabase) {
    let alice = try memory("Alice")
    let bob = try memory("Bob")
    try alice.writeText("v1", to: "test")
    try bob.merge(source: alice)
    try bob.delete(key: "test")
    try alice.writeText("v2", to: "test")
    return (alice, bob)
  }

  @Test("a deletion and a change made apart are both there, on both sides")
  func testCreateDeleteConflict() throws {
    let (alice, bob) = try deletedAndChanged()
    try alice.merge(source: bob)
    #expect(try alice.read(key: "test").count == 2)
    try bob.merge(source: alice)
    #expect(try bob.read(key: "test").count == 2)
    #expect(try alice.statistics == bob.statistics)
  }

  @Test("a write ends a conflict, on every copy that hears of it")
  func testWritesResolveConflicts() throws {
    let (alice, bob, charlie) = (try memory("Alice"), try memory("Bob"), try memory("Charlie"))
    try alice.writeText("alice", to: "test")
    try bob.writeText("bob", to: "test")
    try charlie.merge(source: alice)
    try charlie.merge(source: bob)
    #expect(try charlie.read(key: "test").count == 2)
    try charlie.writeText("resolved", to: "test")
    #expect(try charlie.read(key: "test").text == "resolved")
    try bob.merge(source: alice)
    #expect(try bob.read(key: "test").count == 2)
    try bob.merge(source: charlie)
    #expect(try bob.read(key: "test").text == "resolved")
  }

  @Test("deleted keys are not listed")
  func testDeletedKeysDontShowUp() throws {
    let (alice, bob) = try deletedAndChanged()
    try alice.merge(source: bob)
    #expect(try alice.keys.count == 1)
    #expect(try alice.statistics.entryCount == 2)
    try alice.delete(key: "test")
    #expect(try alice.keys.isEmpty)
    #expect(try alice.statistics.entryCount == 1)
  }

  @Test("one key in two scopes is two keys")
  func testKeyScopingWorks() throws {
    let database = try memory("Alice")
    try database.writeText("scope 1", to: "test", scope: "scope 1")
    try database.writeText("scope 2", to: "test", scope: "scope 2")
    #expect(try database.read(key: "test", scope: "scope 1").text == "scope 1")
    #expect(try database.read(key: "test", scope: "scope 2").text == "scope 2")
    try database.writeText("bonus", to: "bonus")
    #expect(try database.keys.count == 3)
    let first = ScopedKey(scope: "scope 1", key: "test")
    #expect(
      try database.keys(key: "test") == [first, ScopedKey(scope: "scope 2", key: "test")])
    #expect(try database.keys(scope: "scope 1") == [first])
  }

  @Test("a word is found")
  func testSearch() throws {
    let database = try memory("Alice")
    try database.writeText("Four score and seven years ago", to: "gettysburg")
    try database.writeText("Shall I compare thee to a summer's day?", to: "shakespeare")
    #expect(try database.searchText(for: "summer") == ["shakespeare"])
  }

  @Test("JSON is kept byte for byte")
  func testStoreJSON() throws {
    let database = try memory("Alice")
    try database.writeJson(#"{"a": 21}"#, to: "json")
    #expect(try database.read(key: "json").json == #"{"a": 21}"#)
  }

  @Test("what is no JSON is refused")
  func testInvalidJSONThrows() throws {
    let database = try memory("Alice")
    #expect(throws: KeyValueCRDTError.invalidJSON) {
      try database.writeJson("This isn't JSON", to: "not json")
    }
  }

  @Test("bytes are read as they were written")
  func testStoreBlob() throws {
    let database = try memory("Bob")
    let data = Data("Hello, world!".utf8)
    try database.writeBlob(data, to: "test")
    #expect(try database.read(key: "test").blob == data)
  }

  @Test("all keys are read at once, or those of one name")
  func testBulkRead() throws {
    let alice = try memory("Alice")
    let bob = try memory("Bob")
    try alice.writeText("alice", to: "alice")
    try alice.writeText("alice shared", to: "shared")
    try bob.writeText("bob", to: "bob")
    try bob.writeText("bob shared", to: "shared")
    try alice.merge(source: bob)
    let results = try alice.bulkRead()
    #expect(try results["alice"]?.text == "alice")
    #expect(try results["bob"]?.text == "bob")
    #expect(results["shared"]?.count == 2)
    let filtered = try alice.bulkRead(key: "alice")
    #expect(filtered.count == 1)
    #expect(try filtered["alice"]?.text == "alice")
  }

  private let values: [ScopedKey: Value] = ["alice": .text("Alice"), "shared": .json("42")]

  @Test("many values are written at once")
  func testBulkWrite() throws {
    let database = try memory("Alice")
    try database.bulkWrite(values)
    #expect(try database.statistics.entryCount == 2)
    #expect(try database.read(key: "alice").text == "Alice")
    #expect(try database.read(key: "shared").json == "42")
  }

  @Test("a copy knows what the database knows")
  func testBackup() throws {
    let database = try memory("Alice")
    try database.bulkWrite(values)
    let backup = try memory("Bob")
    try database.backup(to: backup)
    #expect(try database.dominates(other: backup))
    #expect(try backup.dominates(other: database))
  }

  @Test("a copy replaces what was there")
  func testBackupClobbersExistingData() throws {
    let database = try memory("Alice")
    try database.bulkWrite(values)
    let backup = try memory("Bob")
    try backup.writeText("Hi bob", to: "bob")
    #expect(try !database.dominates(other: backup))
    #expect(try !backup.dominates(other: database))
    try database.backup(to: backup)
    #expect(try database.dominates(other: backup))
    #expect(try backup.dominates(other: database))
    #expect(try backup.read(key: "shared").json == "42")
    #expect(try backup.read(key: "bob").isEmpty)
  }

  @Test("who wrote before he was copied over never uses a number of his writes again")
  func testBackupUpdatesDestinationAuthorRecord() throws {
    let database = try memory("Alice")
    for number in 1...3 { #expect(try database.writeText("v\(number)", to: "test") == number) }
    let copy = try memory("Alice")
    #expect(try copy.writeText("lost", to: "test") == 1)
    try database.backup(to: copy)
    #expect(try copy.read(key: "test").text == "v3")
    #expect(try copy.writeText("v4", to: "test") == 2)
    try database.merge(source: copy)
    #expect(try database.read(key: "test").text == "v4")
  }

  @Test("erasing leaves one author and no notes")
  func testEraseVersionHistory() throws {
    let (alice, bob, charlie) = (try memory("Alice"), try memory("Bob"), try memory("Charlie"))
    try alice.writeText("alice", to: "test")
    try bob.writeText("bob", to: "test")
    try charlie.merge(source: alice)
    try charlie.merge(source: bob)
    try charlie.writeText("resolved", to: "test")
    try bob.merge(source: alice)
    try bob.merge(source: charlie)
    #expect(try bob.read(key: "test").text == "resolved")
    #expect(
      try bob.statistics
        == Statistics(
          entryCount: 1, authorCount: 3, tombstoneCount: 2, authorTableIsConsistent: true))
    try bob.eraseVersionHistory()
    #expect(
      try bob.statistics
        == Statistics(
          entryCount: 1, authorCount: 1, tombstoneCount: 0, authorTableIsConsistent: true))
    #expect(try bob.read(key: "test").text == "resolved")
  }

  @Test("an author that has written nothing may erase")
  func testEraseVersionHistoryWorksWithNewAuthor() throws {
    let folder = try Folder()
    do {
      let database = try folder.database("usn.kvcrdt", "Alice")
      #expect(try database.writeText("v1", to: "test") == 1)
      #expect(try database.writeText("v2", to: "test") == 2)
    }
    let database = try folder.database("usn.kvcrdt", "Bob")
    try database.eraseVersionHistory()
    #expect(try database.read(key: "test").text == "v2")
  }

  @Test("each opening is an author of its own, and counts from 1")
  func testAuthorUsnPersists() throws {
    let folder = try Folder()
    do {
      let database = try folder.database("usn.kvcrdt", "Alice")
      #expect(try database.writeText("v1", to: "test") == 1)
      #expect(try database.writeText("v2", to: "test") == 2)
    }
    let database = try folder.database("usn.kvcrdt", "Alice")
    #expect(try database.writeText("v3", to: "test") == 1)
    #expect(try database.authors.map(\.lastWrite).sorted() == [1, 2])
    #expect(try database.read(key: "test").text == "v3")
  }

  @Test("what a merge brings is published")
  func testMergeChangesArePublished() async throws {
    let alice = try memory("Alice")
    let bob = try memory("Bob")
    let arrived = Signal()
    let subscription = bob.readPublisher(key: "test").sink { _ in
    } receiveValue: { values in
      if (try? values["test"]?.text) == "hello, world" { arrived.set() }
    }
    defer { subscription.cancel() }
    try alice.writeText("hello, world", to: "test")
    #expect(try bob.merge(source: alice) == ["test"])
    #expect(await arrived.isSet())
  }

  @Test("one publisher gives everything, now and after each change, the other what changed")
  func testComparePublishers() async throws {
    let alice = try memory("Alice")
    try alice.bulkWrite(["key1": "value 1", "key2": "value 2"])
    let all = Signal()
    let first = alice.readPublisher(keyPrefix: "key").sink(receiveCompletion: { _ in }) {
      let expected: [ScopedKey: [Value]] = ["key1": ["value 1"], "key2": ["updated"]]
      if $0.mapValues({ $0.map(\.value) }) == expected { all.set() }
    }
    defer { first.cancel() }
    let changed = Collected<String>()
    let second = alice.updatedValuesPublisher.sink { (key, versions) in
      changed.add("\(key): \((try? versions.text) ?? "?")")
    }
    defer { second.cancel() }
    try alice.writeText("updated", to: "key2")
    #expect(await all.isSet())
    #expect(await changed.wait(for: 1) == ["key2: updated"])
  }

  @Test("a merge publishes each key that it changes")
  func testUpdatedValuesPublisherOnMerge() async throws {
    let alice = try memory("Alice")
    let bob = try memory("Bob")
    try alice.writeText("alice's version", to: "shared")
    try bob.writeText("bob's version", to: "shared")
    try bob.writeText("bob solo", to: "bob")
    let changed = Collected<String>()
    let subscription = alice.updatedValuesPublisher.sink { (key, versions) in
      changed.add("\(key): \(versions.compactMap(\.value.text).sorted())")
    }
    defer { subscription.cancel() }
    try alice.merge(source: bob)
    let expected = [
      #"bob: ["bob solo"]"#, #"shared: ["alice\'s version", "bob\'s version"]"#,
    ]
    #expect(await changed.wait(for: 2) == expected)
  }
}
