import LLVSCore
import Testing

@testable import MountedTree

/// What is recorded of a cut, as bytes.
@Suite(.timeLimit(.minutes(1)))
struct CutRecordTests {
  private static let record: CutRecord = {
    var record = CutRecord()
    record.leavesHistory = true
    record.lineEpoch = 77
    record.sides = [
      CutPlan.Side(predecessor: nil): VersionNumber(5),
      CutPlan.Side(predecessor: VersionNumber(3), turn: 2): VersionNumber(6),
      CutPlan.Side(predecessor: VersionNumber(3), turn: 2, isLeft: true): VersionNumber(7),
    ]
    record.choices = [12: .fallback, 1 << 40: .base]
    record.unreadable = [9, 10]
    return record
  }()

  @Test("what is recorded is read back")
  func readBack() {
    #expect(CutRecord(decoding: Self.record.encoded) == Self.record)
    #expect(CutRecord(decoding: CutRecord().encoded) == CutRecord())
  }

  @Test("what is cut off, too long or of another format says nothing")
  func malformed() {
    let bytes = Self.record.encoded
    for count in 0..<bytes.count {
      #expect(CutRecord(decoding: Array(bytes[..<count])) == CutRecord())
    }
    #expect(CutRecord(decoding: bytes + [0]) == CutRecord())
    #expect(CutRecord(decoding: [2] + bytes.dropFirst()) == CutRecord())
    // A count that nothing stands behind.
    #expect(CutRecord(decoding: Array(bytes[..<10]) + [255, 255, 255, 255]) == CutRecord())
  }
}
