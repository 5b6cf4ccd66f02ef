import TestSupport
import Testing
import TreeModel

@testable import PendingTree

@Suite(.timeLimit(.minutes(5)))
struct JournalRecordTests {
  /// Records as programs at work make them: an image, and changes after it.
  private func records(seed: UInt64) throws -> (records: [JournalRecord], overlay: Overlay) {
    var life = Life<ModelTree>(seed: seed)
    try life.run(40)
    for _ in 0..<30 { try life.act() }
    return (life.image.image + life.journal.map { .change($0) }, life.overlay)
  }

  @Test(
    "What a journal says of an overlay makes the same overlay", arguments: 0..<20 as Range<UInt64>)
  func replayed(seed: UInt64) throws {
    let (records, overlay) = try records(seed: seed)
    let bytes = records.flatMap(\.framed)
    let found = JournalFrame.records(in: bytes)
    #expect(found.end == bytes.count)
    // Comparing alone: what differs is too long to print.
    let isSame = found.records == records
    #expect(isSame)
    var replayed = Overlay()
    for record in found.records { replayed.replay(record) }
    let isReplayed = replayed == overlay
    #expect(isReplayed)
    var again = Overlay()
    for record in overlay.image { again.replay(record) }
    let isMadeAgain = again == overlay
    #expect(isMadeAgain)
  }

  @Test("A journal that is cut off anywhere has its whole records")
  func cutOff() throws {
    let (records, _) = try records(seed: 3)
    var ends = [0]
    for record in records { ends.append((ends.last ?? 0) + record.framed.count) }
    let bytes = records.flatMap(\.framed)
    var random = SeededRandom(seed: 1)
    for _ in 0..<300 {
      let length = Int.random(in: 0...bytes.count, using: &random)
      let found = JournalFrame.records(in: Array(bytes[..<length]))
      let whole = ends.lastIndex { $0 <= length } ?? 0
      let isPrefix = found.records == Array(records[..<whole])
      #expect(isPrefix)
      #expect(found.end == ends[whole])
    }
  }

  @Test("A journal with a damaged bit has the records before it, and none that nobody wrote")
  func damaged() throws {
    let (records, _) = try records(seed: 5)
    var ends = [0]
    for record in records { ends.append((ends.last ?? 0) + record.framed.count) }
    let bytes = records.flatMap(\.framed)
    var random = SeededRandom(seed: 2)
    for _ in 0..<300 {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      var damaged = bytes
      damaged[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      let whole = ends.lastIndex { $0 <= at } ?? 0
      let isPrefix = JournalFrame.records(in: damaged).records == Array(records[..<whole])
      #expect(isPrefix)
    }
  }

  @Test("Bytes that bear a right checksum and are no record make none")
  func nonsense() throws {
    var random = SeededRandom(seed: 4)
    let (records, _) = try records(seed: 7)
    for record in records {
      let bytes = Array(record.framed.dropFirst(JournalFrame.headerSize))
      // Every shorter record is refused, and so is a longer one.
      let short = Array(bytes[..<Int.random(in: 0..<bytes.count, using: &random)])
      #expect(short.withUnsafeBytes { JournalRecord(decoding: $0) } == nil)
      #expect((bytes + [0]).withUnsafeBytes { JournalRecord(decoding: $0) } == nil)
    }
    for _ in 0..<2000 {
      let noise = random.bytes(Int.random(in: 0..<80, using: &random))
      _ = noise.withUnsafeBytes { JournalRecord(decoding: $0) }
    }
  }
}
