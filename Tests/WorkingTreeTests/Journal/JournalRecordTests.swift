import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeModel

@testable import TreeSupport
@testable import WorkingTree

@Suite(.timeLimit(.minutes(5)))
struct JournalRecordTests {
  private static let seed: UInt64 = 0x1234

  /// Records as programs at work make them: an image, and changes after it.
  private func records(seed: UInt64) throws -> (records: [JournalRecord], overlay: Overlay) {
    var life = Life<ModelTree>(seed: seed)
    try life.run(40)
    for _ in 0..<30 { try life.act() }
    var records: [JournalRecord] = []
    life.image.forEachImageRecord { records.append($0) }
    return (records + life.journal.map { .change($0) }, life.overlay)
  }

  private func framed(_ records: [JournalRecord]) -> [UInt8] {
    var bytes = ByteWriter()
    for record in records { record.append(to: &bytes) }
    JournalFrame.seal(&bytes, seed: Self.seed)
    return bytes.array
  }

  /// The records in some bytes, up to the first that is torn or damaged.
  private func found(
    in bytes: [UInt8], seed: UInt64 = JournalRecordTests.seed
  ) -> (records: [JournalRecord], end: Int) {
    bytes.withUnsafeBytes { raw in
      var (records, end): ([JournalRecord], Int) = ([], 0)
      while case .record(let range) = JournalFrame.look(in: raw, at: end, seed: seed),
        let record = JournalRecord(decoding: UnsafeRawBufferPointer(rebasing: raw[range]))
      {
        records.append(record)
        end = range.upperBound
      }
      return (records, end)
    }
  }

  @Test(
    "What a journal says of an overlay makes the same overlay", arguments: 0..<20 as Range<UInt64>)
  func replayed(seed: UInt64) throws {
    let (records, overlay) = try records(seed: seed)
    let bytes = framed(records)
    let found = found(in: bytes)
    #expect(found.end == bytes.count)
    // Comparing alone: what differs is too long to print.
    let isSame = found.records == records
    #expect(isSame)
    var replay = JournalReplay(lastCut: 0)
    for record in found.records { replay.take(record, at: 0) }
    let isReplayed = replay.overlay == overlay
    #expect(isReplayed)
    var again = JournalReplay(lastCut: 0)
    overlay.forEachImageRecord { again.take($0, at: 0) }
    let isMadeAgain = again.overlay == overlay
    #expect(isMadeAgain)
  }

  @Test("What a process had seen of names that change places is in their record")
  func exchanged() {
    for (seen, other) in [(nil, nil), (Epoch(3), nil), (nil, Epoch(4)), (Epoch(5), Epoch(6))] {
      let record = JournalRecord.change(
        Change(
          time: .init(seconds: 1, nanoseconds: 2),
          .exchange(
            InodeNumber(7), at: JournalKeeper.place("a"), with: InodeNumber(8),
            otherAt: JournalKeeper.place("b"), seen: seen, otherSeen: other)))
      #expect(found(in: framed([record])).records == [record])
    }
  }

  @Test("A journal that is cut off anywhere has its whole records")
  func cutOff() throws {
    let (records, _) = try records(seed: 3)
    var ends = [0]
    for record in records { ends.append((ends.last ?? 0) + framed([record]).count) }
    let bytes = framed(records)
    var random = SeededRandom(seed: 1)
    for _ in 0..<300 {
      let length = Int.random(in: 0...bytes.count, using: &random)
      let found = found(in: Array(bytes[..<length]))
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
    for record in records { ends.append((ends.last ?? 0) + framed([record]).count) }
    let bytes = framed(records)
    var random = SeededRandom(seed: 2)
    for _ in 0..<300 {
      let at = Int.random(in: 0..<bytes.count, using: &random)
      var damaged = bytes
      damaged[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      let whole = ends.lastIndex { $0 <= at } ?? 0
      let isPrefix = found(in: damaged).records == Array(records[..<whole])
      #expect(isPrefix)
    }
  }

  @Test("Records of another file are none")
  func foreign() throws {
    let bytes = framed(try records(seed: 6).records)
    #expect(found(in: bytes, seed: Self.seed + 1).end == 0)
  }

  @Test("Bytes that bear a right checksum and are no record make none")
  func nonsense() throws {
    var random = SeededRandom(seed: 4)
    let (records, _) = try records(seed: 7)
    for record in records {
      let bytes = Array(framed([record]).dropFirst(JournalFrame.headerSize))
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
