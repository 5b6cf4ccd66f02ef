import LLVSCore
import Platform

/// The current journal file, the place of the next record, and the room there.
/// INVARIANT J1: a record is at the end of the file whole, or the file is as before.
struct JournalFile: Sendable {
  let number: UInt32
  let file: File
  private let seed: UInt64
  private(set) var end: UInt64
  let imageEnd: UInt64
  private var room: JournalRoom
  /// Everything before this offset is on the disk, and no record says so.
  private var unmarkedEnd: UInt64?
  private var lastSync: UInt64?
  var hasEndedCut = false

  /// Creates a file with records up to `end`, followed by nothing or zeros.
  init(number: UInt32, file: File, seed: UInt64, end: UInt64, room: JournalRoom) {
    (self.number, self.file, self.seed) = (number, file, seed)
    (self.end, imageEnd, self.room) = (end, end, room)
  }

  static func name(_ number: UInt32) -> String { "\(DataFiles.padded(number)).journal" }
  static func number(_ name: String) -> UInt32? { DataFiles.number(name, ".journal") }

  /// Seals and writes frames, and the mark of the last sync, to the end; all or none. Saves and removals are
  /// `isFreeing`, and may use the room kept for them; `directory` has the reserve. Throws the error of the write or
  /// of fallocate(2), and sets ``isDamaged`` if written bytes could not be removed.
  mutating func append(
    _ frames: inout ByteWriter, isFreeing: Bool, in directory: String
  ) throws(SystemError) {
    let count = frames.count
    if let unmarkedEnd { JournalRecord.synced(end: unmarkedEnd).append(to: &frames) }
    do throws(SystemError) {
      try room.reserve(end + UInt64(frames.count), of: file, isFreeing: isFreeing, in: directory)
      JournalFrame.seal(&frames, seed: seed)
      try write(frames)
    } catch {
      frames.truncate(to: count)
      throw error
    }
    end += UInt64(frames.count)
    unmarkedEnd = nil
  }

  private mutating func write(_ frames: borrowing ByteWriter) throws(SystemError) {
    do throws(SystemError) {
      try frames.withBytes { (bytes) throws(SystemError) in try file.write(bytes, at: end) }
    } catch {
      takeBack()
      throw error
    }
  }

  /// Removes refused frames, which must not be read as records once others precede them.
  private mutating func takeBack() {
    do throws(SystemError) {
      guard try file.status().size > end else { return }
      try giveUpRoom()
    } catch { isDamaged = true }
  }

  /// Frees the room behind the records; throws the error of ftruncate(2).
  mutating func giveUpRoom() throws(SystemError) {
    try file.truncate(to: end)
    room.cutOff(at: end)
  }

  /// Allots the room for removals behind the records, or what the disk has.
  mutating func keepRoom() { room.keep(end, of: file) }

  /// Makes records follow those that were read; throws the error of ftruncate(2).
  mutating func goOn() throws(SystemError) {
    try giveUpRoom()
    isResumed = true
  }

  /// True for a file that another process began: it is renewed as soon as possible.
  private(set) var isResumed = false
  /// True if the file ends with bytes that no record may follow.
  private(set) var isDamaged = false

  /// Notes that the file was synced up to an offset, `count` bytes of it for the first time, at a time in
  /// nanoseconds; true if the last sync was less than a second ago, as in a series. The next frames carry a
  /// mark of the offset, which only tells a torn tail from damage and so needs no sync.
  mutating func synced(to offset: UInt64, _ count: UInt64, at time: UInt64) -> Bool {
    defer { lastSync = time }
    unmarkedEnd = offset
    room.synced(count, end: end, of: file)
    return lastSync.map { time < $0 + 1_000_000_000 } ?? false
  }

  /// True if most of the journal may be dead: it is renewed once a cut has ended.
  var isGrown: Bool { isResumed || end - imageEnd > max(1 << 20, imageEnd) }
  /// True if the journal must be renewed at any time.
  var isOverdue: Bool { end - imageEnd > max(64 << 20, imageEnd) }

  /// Calls `body` with the records between two offsets of whole records, without bytes of files.
  func forEachRecord(
    in range: Range<UInt64>, _ body: (JournalRecord) throws(SystemError) -> Void
  ) throws(SystemError) {
    var at = range.lowerBound
    var wanted = 1 << 20
    while at < range.upperBound {
      let count = Int(min(UInt64(wanted), range.upperBound - at))
      let block = try file.read(count, at: at)
      let (records, end) = block.withUnsafeBytes { raw in self.records(in: raw) }
      for record in records { try body(record) }
      if end == 0 {
        guard wanted < range.upperBound - at else {
          // The kernel returns other bytes than it accepted.
          throw SystemError(errno: Errno.inputOutput, call: "pread", subject: file.path)
        }
        wanted *= 2
      } else {
        at += UInt64(end)
        wanted = 1 << 20
      }
    }
  }

  private func records(in block: UnsafeRawBufferPointer) -> ([JournalRecord], end: Int) {
    var records: [JournalRecord] = []
    var end = 0
    while end < block.count,
      case .record(let range) = JournalFrame.look(in: block, at: end, seed: seed)
    {
      if block[range.lowerBound] != JournalFrame.bytesTag {
        guard let record = JournalRecord(decoding: UnsafeRawBufferPointer(rebasing: block[range]))
        else { break }
        records.append(record)
      }
      end = range.upperBound
    }
    return (records, end)
  }
}
