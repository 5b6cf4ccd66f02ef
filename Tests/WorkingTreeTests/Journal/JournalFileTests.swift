import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// The file that records go into, and the marks of what was synced.
@Suite(.timeLimit(.minutes(5)))
struct JournalFileTests {
  private let directory = Result { try TemporaryDirectory(inMemory: true) }

  private func file() throws -> JournalFile {
    let file = try File(directory.get().file("1.journal"), [.readWrite, .create])
    return JournalFile(number: 1, file: file, seed: 7, end: 0, room: JournalRoom())
  }

  private func append(_ record: JournalRecord, to file: inout JournalFile) throws {
    var frames = ByteWriter()
    record.append(to: &frames)
    try file.append(&frames, isFreeing: false, in: directory.get().path)
  }

  private func records(of file: JournalFile) throws -> [JournalRecord] {
    var records: [JournalRecord] = []
    try file.forEachRecord(in: 0..<file.end) { records.append($0) }
    return records
  }

  @Test("What is appended after a sync takes the mark along, once")
  func marks() throws {
    var file = try file()
    try append(.mark(cut: 1), to: &file)
    let end = file.end
    _ = file.synced(to: end, end, at: 0)
    try append(.mark(cut: 2), to: &file)
    try append(.mark(cut: 3), to: &file)
    #expect(
      try records(of: file) == [.mark(cut: 1), .mark(cut: 2), .synced(end: end), .mark(cut: 3)])
  }

  @Test("Only a sync that follows another within a second is one of a series")
  func series() throws {
    var file = try file()
    try append(.mark(cut: 1), to: &file)
    let isInSeries = [5_000, 5_500, 6_499, 7_500, 7_501].map { milliseconds in
      file.synced(to: file.end, 0, at: milliseconds * 1_000_000)
    }
    #expect(isInSeries == [false, true, true, false, true])
  }

  @Test("A write that is refused leaves the file, the frames and the mark as they were")
  func refused() throws {
    var file = try file()
    try append(.mark(cut: 1), to: &file)
    let end = file.end
    _ = file.synced(to: end, end, at: 0)
    var frames = ByteWriter()
    JournalRecord.mark(cut: 2).append(to: &frames)
    let count = frames.count
    let token = Faults.arm(
      Faults.Plan(
        calls: [.write], below: try directory.get().path, nth: 1, times: 1,
        action: .fail(Errno.noSpace)))
    #expect(throws: SystemError.self) {
      try file.append(&frames, isFreeing: false, in: directory.get().path)
    }
    Faults.disarm(token)
    #expect(file.end == end && frames.count == count)
    try file.append(&frames, isFreeing: false, in: directory.get().path)
    #expect(try records(of: file) == [.mark(cut: 1), .mark(cut: 2), .synced(end: end)])
  }
}
