import Inodes
import LLVSCore
import Platform

/// A journal file that is being written, under a name of its own until it is whole.
struct NewJournalFile {
  private static let bufferSize = 1 << 20

  let number: UInt32
  private let file: File
  private let seed: UInt64
  private let directory: String
  private var buffer: [UInt8] = []
  private var end = UInt64(JournalFileHeader.size)

  /// Creates a file with a header.
  ///
  /// - Throws: the error of the first call that fails; then there is no file.
  init(number: UInt32, in directory: String, owner: JournalOwner, cut: UInt64) throws(SystemError) {
    self.number = number
    self.directory = directory
    seed = SystemRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
    let path = "\(directory)/\(JournalFile.name(number)).tmp"
    file = try File.kept(path, [.readWrite, .create, .truncate])
    let header = JournalFileHeader(
      bootID: owner.bootID, storeID: owner.storeID, cut: cut, lastNumber: number, seed: seed)
    do throws(SystemError) {
      try file.write(header.encoded, at: 0)
    } catch {
      abandon()
      throw error
    }
  }

  /// Removes the file.
  func abandon() {
    // One that cannot be removed now is removed at the next mount.
    try? FileSystem.unlink(file.path)
  }

  mutating func append(_ record: JournalRecord) throws(SystemError) {
    record.append(to: &buffer)
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Writes the image of an overlay, and the checksums of the bytes that it refers to.
  ///
  /// - Returns: the bytes without a checksum, which nobody can read.
  @discardableResult
  mutating func append(
    _ overlay: Overlay, epochs: [Epoch: UInt32], files: DataFiles
  ) throws(SystemError) -> [UInt32: [Range<UInt64>]] {
    try overlay.forEachImageRecord { (record) throws(SystemError) in try append(record) }
    for (epoch, version) in epochs.sorted(by: { $0.key < $1.key }) {
      try append(.epoch(epoch, version: version))
    }
    return try append(sumsOf: LiveBytes(of: overlay), files)
  }

  /// Writes the checksums of bytes; returns the ranges that have none.
  @discardableResult
  private mutating func append(
    sumsOf bytes: LiveBytes, _ files: DataFiles
  ) throws(SystemError) -> [UInt32: [Range<UInt64>]] {
    let (records, missing) = files.sumRecords(of: bytes)
    for record in records { try append(record) }
    return missing
  }

  mutating func append(sums: [BytesSum], of source: UInt32) throws(SystemError) {
    for record in JournalRecord.sums(of: source, all: sums) { try append(record) }
  }

  /// Copies the records of another file between two offsets, which name the new places of bytes that were moved.
  /// Other bytes stay where they are. The checksums of all bytes that a record names precede the record: the file
  /// that holds the bytes has them too, but is read for bytes alone.
  mutating func copy(
    from old: JournalFile, _ range: Range<UInt64>, _ moves: ExtentMoves, files: DataFiles
  ) throws(SystemError) {
    try old.forEachRecord(in: range) { (record) throws(SystemError) in
      var record = record
      switch record {
      case .synced: return
      case .settled(let cut, let isCommitted, let edits) where !moves.isEmpty:
        record = .settled(cut: cut, isCommitted: isCommitted, edits.moved(moves))
      default: break
      }
      var named = LiveBytes()
      record.forEachExtent { named.add($0) }
      try append(sumsOf: named, files)
      try append(record)
    }
  }

  mutating func flush() throws(SystemError) {
    guard !buffer.isEmpty else { return }
    JournalFrame.seal(&buffer, seed: seed)
    try file.write(buffer, at: end)
    end += UInt64(buffer.count)
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes what is left, and brings all to the disk.
  mutating func sync() throws(SystemError) {
    try flush()
    try file.syncData()
    // Tells a torn tail from damage, and which bytes need not be looked at after a power failure.
    try append(.synced(end: end))
  }

  /// Allots the room that follows the image; none if it is not needed and the disk has none.
  func makeRoom(isNeeded: Bool) throws(SystemError) -> JournalRoom {
    do throws(SystemError) {
      return try JournalRoom(for: file, expecting: end, in: directory)
    } catch {
      guard error.isNoSpace, !isNeeded else { throw error }
      return JournalRoom()
    }
  }

  /// Gives the file its name; the name is on the disk once the directory is synced.
  func rename(room: JournalRoom, files: DataFiles) throws(SystemError) -> JournalFile {
    let name = JournalFile.name(number)
    try FileSystem.rename(file.path, to: "\(directory)/\(name)")
    files.add(file, number, named: name, isSynced: true)
    return JournalFile(number: number, file: file, seed: seed, end: end, room: room)
  }
}
