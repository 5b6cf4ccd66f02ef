import Foundation
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

@Suite("names of versions", .timeLimit(.minutes(1)))
struct VersionNameTests {
  private func name(_ timestamp: Double, after names: String..., id: String = "3F9C2A1B") -> String
  {
    VersionName.candidates(
      timestamp: timestamp, after: names, id: Version.ID(id), number: VersionNumber(1)
    ).first { _ in true } ?? ""
  }

  @Test("a name has the milliseconds of its time, and is later than those of its predecessors")
  func times() {
    #expect(name(800_000_000) == "2026-05-09T061320.000Z-3F9C2A1B")
    #expect(name(800_000_000.482) == "2026-05-09T061320.482Z-3F9C2A1B")
    #expect(name(800_000_000.4829) == "2026-05-09T061320.482Z-3F9C2A1B")
    #expect(name(-0.001) == "2000-12-31T235959.999Z-3F9C2A1B")
    let (one, two) = ("2026-05-09T061320.482Z-A", "2026-05-09T061320.999Z-B")
    #expect(name(800_000_000.482, after: one) == "2026-05-09T061320.483Z-3F9C2A1B")
    #expect(name(800_000_000.482, after: one, two) == "2026-05-09T061321.000Z-3F9C2A1B")
    #expect(name(800_000_009, after: one) == "2026-05-09T061329.000Z-3F9C2A1B")
    // A name of whole seconds, as stores gave them before.
    let old = "2026-05-09T061320Z-3F9C2A1B"
    #expect(name(800_000_000.5, after: old) == "2026-05-09T061321.000Z-3F9C2A1B")
    #expect(old < name(800_000_000.5, after: old))
    // Years that no name spells are cut, and what is no name says nothing.
    #expect(name(-1e12).hasPrefix("000") && name(1e12).hasPrefix("99"))
    #expect(name(800_000_000, after: "other").hasPrefix("2026-05-09T061320.000Z"))
  }

  @Test("the time in a name is read as it was written", arguments: 1...20)
  func roundTrip(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    for _ in 0..<200 {
      let milliseconds = Int64.random(in: -62_000_000_000_000...250_000_000_000_000, using: &random)
      let text = VersionName.text(milliseconds)
      #expect(VersionName.milliseconds(in: text + "-X") == milliseconds, "\(text)")
    }
    for day in ["1970-01-01", "2000-02-29", "1900-03-01", "2024-12-31", "0001-01-01"] {
      let read = VersionName.milliseconds(in: "\(day)T000000.000Z-X") ?? 0
      #expect(VersionName.text(read) == "\(day)T000000.000Z")
    }
  }

  @Test("in a store the names of a line sort as it was made, also of versions of one moment")
  func line() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let store = try Store.open(path: directory.file("s"), create: true)
    var version: Version?
    var ids: [Version.ID] = []
    for number in 0..<30 {
      version = try store.makeVersion(
        basedOnPredecessor: version?.id,
        storing: [.insert(Value(id: Value.ID("a\(number)"), data: [1]))])
      ids += [version?.id].compactMap(\.self)
    }
    let records = try store.versions(afterName: nil, limit: 100)
    #expect(records.map(\.id) == ids)
  }
}
