import Foundation
import KeyValueCRDT
import Testing

/// The text index, which a merge keeps by triggers, by statements of its own, or all anew.
@Suite("The text index", .timeLimit(.minutes(1)))
struct TextIndexTests {
  @Test(
    "a merge keeps it in step with the entries, however many it takes and removes",
    arguments: [1, 9, 10, 60, 150, 400])
  func merging(count: Int) throws {
    let mine = try KeyValueDatabase(fileURL: nil, authorDescription: "mine")
    try mine.bulkWrite(values(0..<500, "ant"))
    let theirs = try KeyValueDatabase(fileURL: nil, authorDescription: "theirs")
    try theirs.merge(source: mine)
    try theirs.bulkWrite(values(0..<count, "bee"))
    try theirs.bulkWrite(values(1000..<(1000 + count), "bee"))
    for number in 0..<3 { try theirs.delete(key: "key \(499 - number)") }
    // An entry that is changed on both sides stays in both versions.
    try mine.writeText("cow", to: "key 0")
    try mine.merge(source: theirs)
    #expect(try mine.searchText(for: "bee").count == 2 * count)
    #expect(try mine.searchText(for: "ant").count == 500 - count - 3)
    #expect(try mine.searchText(for: "cow").count == 1)
    try mine.write { database in
      // FTS5 compares each of its words with the entries, and throws where they differ.
      try database.execute(
        sql: "INSERT INTO entryFullText (entryFullText, rank) VALUES ('integrity-check', 1)")
    }
  }

  private func values(_ keys: Range<Int>, _ word: String) -> [ScopedKey: Value] {
    Dictionary(
      uniqueKeysWithValues: keys.map { (ScopedKey(key: "key \($0)"), .text("\(word) number\($0)")) }
    )
  }
}
