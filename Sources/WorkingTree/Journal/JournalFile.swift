import LLVSCore
import Platform

/// The journal file that records go into: a file, the place of the next record, and the room that is kept there.
///
/// INVARIANT J1: a record is at the end of the file whole, or the file is as it was before.
struct JournalFile: Sendable {
  let number: UInt32
  let file: File
  private let seed: UInt64
  /// The offset of the next record.
  private(set) var end: UInt64
  /// The bytes of the image that the file began with.
  private(set) var imageEnd: UInt64
  private var room: JournalRoom
  /// Everything before this offset is on the disk, and no record says so yet.
  private var unmarkedEnd: UInt64?
  private var lastSync: UInt64?

  /// A file that has records up to an offset, and behind that nothing or zeros.
  init(number: UInt32, file: File, seed: UInt64, end: UInt64, room: JournalRoom) {
    (self.number, self.file, self.seed) = (number, file, seed)
    (self.end, imageEnd, self.room) = (end, end, room)
  }

  /// The name of a journal file.
  static func name(_ number: UInt32) -> String { "\(DataFiles.padded(number)).journal" }

  /// The number of a journal file; nil for another file.
  static func number(_ name: String) -> UInt32? { DataFiles.number(name, ".journal") }

  /// Writes frames, which it seals, to the end; all of them or none.
  ///
  /// The mark of what was synced goes with them.
  ///
  /// - Parameters:
  ///   - frames: whole frames.
  ///   - isFreeing: they are a save or take something away, and may use what is kept for that.
  ///   - directory: the directory of the reserve file.
  /// - Throws: the error of the write or of fallocate(2). ``isDamaged`` is true then where what was written of
  ///   the frames could not be taken back.
  mutating func append(
    _ frames: inout [UInt8], isFreeing: Bool, in directory: String
  ) throws(SystemError) {
    let count = frames.count
    if let unmarkedEnd { JournalRecord.synced(end: unmarkedEnd).append(to: &frames) }
    do throws(SystemError) {
      try room.reserve(end + UInt64(frames.count), of: file, isFreeing: isFreeing, in: directory)
      JournalFrame.seal(&frames, seed: seed)
      try write(frames)
    } catch {
      frames.removeSubrange(count...)
      throw error
    }
    end += UInt64(frames.count)
    unmarkedEnd = nil
  }

  private mutating func write(_ frames: [UInt8]) throws(SystemError) {
    do throws(SystemError) {
      try file.write(frames, at: end)
    } catch {
      takeBack()
      throw error
    }
  }

  /// Bytes of refused frames must not be read as records once others are before them.
  private mutating func takeBack() {
    do throws(SystemError) {
      guard try file.status().size > end else { return }
      try giveUpRoom()
    } catch { isDamaged = true }
  }

  /// Gives the disk back what is allotted behind the records.
  ///
  /// - Throws: the error of ftruncate(2).
  mutating func giveUpRoom() throws(SystemError) {
    try file.truncate(to: end)
    room.cutOff(at: end)
  }

  /// Allots the room for removals behind the records, or what the disk has of it.
  mutating func keepRoom() { room.keep(end, of: file) }

  /// Lets records follow those that were read; what is behind them goes.
  ///
  /// - Throws: the error of ftruncate(2).
  mutating func goOn() throws(SystemError) {
    try giveUpRoom()
    isResumed = true
  }

  /// True for a file that was not begun by this process: it is renewed as soon as that can be.
  private(set) var isResumed = false

  /// True if the end of the file has bytes that no record may follow.
  private(set) var isDamaged = false

  /// The file was synced up to an offset.
  ///
  /// The next frames take a mark of that along. The mark only tells a torn tail from damage, so it need not be on the
  /// disk itself.
  ///
  /// - Parameters:
  ///   - offset: the end of what was synced.
  ///   - count: the bytes that no earlier sync covered.
  ///   - time: the clock, in nanoseconds.
  /// - Returns: true if another sync was less than a second ago, as those of a database are.
  mutating func synced(to offset: UInt64, _ count: UInt64, at time: UInt64) -> Bool {
    defer { lastSync = time }
    unmarkedEnd = offset
    room.synced(count, end: end, of: file)
    return lastSync.map { time < $0 + 1_000_000_000 } ?? false
  }

  /// The image ends here: what follows is what programs do.
  mutating func endImage() { imageEnd = end }

  /// True if the journal is to be renewed when a cut has ended: most of it is dead.
  var isGrown: Bool { isResumed || end - imageEnd > max(1 << 20, imageEnd) }

  /// True if the journal is to be renewed whatever is in it.
  var isOverdue: Bool { end - imageEnd > max(64 << 20, imageEnd) }
}

extension JournalFile {
  /// Reads the records between two offsets, which are those of whole records; bytes of files are passed over.
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
          // The kernel took these bytes and gives back others.
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
