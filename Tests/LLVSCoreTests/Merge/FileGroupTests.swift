import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

/// Merges of databases and what SQLite keeps next to them (docs/merging.md, M9).
@Suite(.timeLimit(.minutes(1)))
struct FileGroupTests {
  @Test("a name with an ending of SQLite belongs to the file without it")
  func names() {
    let group = FileGroup(of: Key("d/x.db"))
    #expect(group.members == [Key("d/x.db"), Key("d/x.db-journal"), Key("d/x.db-wal")])
    #expect(FileGroup(companion: Key("d/x.db-wal")) == group)
    #expect(FileGroup(companion: Key("d/x.db-journal")) == group)
    for name in ["d/x.db", "d/-wal", "-wal", "wal", "x-wal/y", "x.db-shm"] {
      #expect(FileGroup(companion: Key(name)) == nil)
    }
  }

  @Test("where each side changed another file of a database, all of it is of the newer side")
  func parts() throws {
    var outcome = try TwoSides(
      base: ["x": "0", "x-wal": "0", "y": "0"], first: ["x": "1", "y": "1"],
      second: ["x-wal": "2"]
    ).merged()
    #expect(outcome.values == ["x": "0", "x-wal": "2", "y": "1"])
    #expect(outcome.dropped == ["x"])
    outcome = try TwoSides(
      base: ["x": "0", "x-wal": "0"], first: ["x-wal": "1"], second: ["x": "2"]
    ).merged()
    #expect(outcome.values == ["x": "2", "x-wal": "0"])
    #expect(outcome.dropped == ["x-wal"])
  }

  @Test(
    "a log of the older side is dropped where the newer side has none, and comes back where it counts"
  )
  func logs() throws {
    var outcome = try TwoSides(
      base: ["x": "0"], first: ["x": "1", "x-wal": "1"], second: ["x": "2"]
    ).merged()
    #expect(outcome.values == ["x": "2"])
    #expect(outcome.dropped.sorted() == ["x", "x-wal"])
    let removed = TwoSides(
      base: ["x": "0", "x-wal": "0"], first: ["x-wal": "1"], second: ["x": "2", "x-wal": nil])
    #expect(try removed.merged().values == ["x": "2"])
    let first = OneSideClashArbiter(.first)
    #expect(try removed.merged(by: first).values == ["x": "0", "x-wal": "1"])
    outcome = try TwoSides(
      base: ["x": "0", "x-wal": "0"], first: ["x": nil, "x-wal": nil], second: ["x-wal": "2"]
    ).merged()
    #expect(outcome.values == ["x": "0", "x-wal": "2"])
  }

  @Test(
    "what one side changed alone, or both alike, is no clash, and neither is a file without a database"
  )
  func plain() throws {
    var outcome = try TwoSides(
      base: ["x": "0", "x-wal": "0"], first: ["x": "1", "x-wal": nil], second: ["y": "2"]
    ).merged()
    #expect(outcome.values == ["x": "1", "y": "2"])
    #expect(outcome.dropped == [])
    outcome = try TwoSides(
      base: ["x": "0"], first: ["x": "1", "x-wal": "1"], second: ["x": "1", "x-wal": "1"]
    ).merged()
    #expect(outcome.values == ["x": "1", "x-wal": "1"])
    #expect(outcome.dropped == [])
    outcome = try TwoSides(
      base: ["a": "0"], first: ["x-wal": "1"], second: ["x-journal": "2"]
    ).merged()
    #expect(outcome.values == ["a": "0", "x-wal": "1", "x-journal": "2"])
    #expect(outcome.dropped == [])
  }

  @Test("a database that one side renamed takes the other side's log along")
  func renamed() throws {
    let outcome = try TwoSides(
      base: ["x": "db", "x-wal": "log"],
      first: ["x": nil, "x-wal": nil, "z": "db", "z-wal": "log"],
      second: ["x-wal": "more"]
    ).merged()
    #expect(outcome.values == ["z": "db", "z-wal": "more"])
    #expect(outcome.dropped == [])
  }
}
