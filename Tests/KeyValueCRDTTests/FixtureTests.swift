import Foundation
import KeyValueCRDT
import Testing

@Suite("Files of the original", .timeLimit(.minutes(2)))
struct FixtureTests {
  @Test("are read as the original reads them, and stay as they are", arguments: Fixtures.names)
  func areRead(_ name: String) throws {
    let folder = try Folder()
    let file = try Fixtures.copy(name, to: folder)
    let before = try folder.bytes(file)
    let expected = try Fixtures.expected(name)
    let database = try folder.database(file)
    #expect(try Expected.lines(database) == expected.lines)
    if let authors = expected.authors {
      #expect(
        Set(try database.authors.map { "\($0.id) \($0.name) \($0.lastWrite)" })
          == Set(authors.map { "\($0.id) \($0.name) \($0.usn)" }))
      #expect(
        Set(try database.authors.compactMap { $0.timestamp.map(Expected.text) })
          == Set(authors.compactMap(\.timestamp)))
    }
    if let keys = expected.liveKeys {
      #expect(try database.keys == keys.map(\.scopedKey).sorted())
    }
    for (words, keys) in expected.search ?? [:] {
      #expect(Set(try database.searchText(for: words)) == Set(keys.map(\.scopedKey)))
    }
    if let counts = expected.statistics {
      let statistics = try database.statistics
      #expect(statistics.entryCount == counts.entryCount)
      #expect(statistics.authorCount == counts.authorCount)
      #expect(statistics.tombstoneCount == counts.tombstoneCount)
      #expect(statistics.authorTableIsConsistent)
    }
    #expect(try database.applicationIdentifier == expected.applicationIdentifier)
    #expect(try database.verify() == [])
    #expect(try folder.bytes(file) == before)
  }

  @Test("merge to the right result in every order", arguments: Fixtures.merges)
  func mergeRight(_ name: String) throws {
    let expected = try Fixtures.causal(name)
    let inputs = try #require(expected.inputs)
    let place = (name as NSString).deletingLastPathComponent
    for order in permutations(inputs) {
      let folder = try Folder()
      let files = try order.map { try Fixtures.copy("\(place)/\($0)", to: folder) }
      let first = try folder.database(files[0])
      for file in files.dropFirst() { try first.merge(source: try folder.database(file)) }
      #expect(try Expected.lines(first) == expected.lines, "\(order)")
      #expect(try first.verify() == [])
      // And into an empty one.
      let empty = try folder.database("empty.kvcrdt")
      for file in files { try empty.merge(source: try folder.database(file)) }
      #expect(try Expected.lines(empty) == expected.lines, "\(order)")
      #expect(try empty.dominates(other: first) && first.dominates(other: empty))
    }
  }

  private func permutations(_ names: [String]) -> [[String]] {
    guard names.count > 1 else { return [names] }
    // Beyond four the orders are too many: each begins once.
    guard names.count <= 4 else {
      return names.indices.map { Array(names[$0...] + names[..<$0]) }
    }
    return names.indices.flatMap { index in
      var rest = names
      let name = rest.remove(at: index)
      return permutations(rest).map { [name] + $0 }
    }
  }

  @Test("that its merge left with removed values are mended by merging with a right one")
  func areMended() throws {
    guard Fixtures.names.contains("forwarding/dave-merged-carol-by-library") else { return }
    let folder = try Folder()
    let wrong = try folder.database(
      try Fixtures.copy("forwarding/dave-merged-carol-by-library", to: folder))
    let bob = try folder.database(try Fixtures.copy("forwarding/bob", to: folder))
    #expect(try wrong.read(key: "k").count == 2)
    #expect(try wrong.merge(source: bob) == ["gone", "k"])
    #expect(try Expected.lines(wrong) == Fixtures.causal("forwarding/dave+carol").lines)
    // A second time there is nothing to do.
    #expect(try wrong.merge(source: bob) == [])
  }

  @Test("have the schema that a new file has, word for word", arguments: Fixtures.names)
  func haveTheSchema(_ name: String) throws {
    let query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    let folder = try Folder()
    let file = try Fixtures.copy(name, to: folder)
    _ = try folder.database("new.kvcrdt")
    #expect(try folder.rows("new.kvcrdt", query) == folder.rows(file, query))
    for setting in ["page_size", "journal_mode", "encoding", "application_id", "user_version"] {
      #expect(
        try folder.rows("new.kvcrdt", "PRAGMA \(setting)")
          == folder.rows(file, "PRAGMA \(setting)"))
    }
    let steps = "SELECT identifier FROM grdb_migrations ORDER BY rowid"
    #expect(try folder.rows("new.kvcrdt", steps) == folder.rows(file, steps))
  }
}
