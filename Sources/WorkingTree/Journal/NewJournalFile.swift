import LLVSCore
import Platform

/// A journal file that is being written, under a temporary name.
struct NewJournalFile: ~Copyable {
  private static let bufferSize = 1 << 20
  let number: UInt32
  private let file: File
  private let seed: UInt64
  private let directory: String
  private var buffer = ByteWriter()
  private var end = UInt64(JournalFileHeader.size)

  /// Creates a file with a header, or throws and leaves none.
  init(number: UInt32, in directory: String, owner: JournalOwner, cut: UInt64) throws(SystemError) {
    let seed = SystemRandom.bytes(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let header = JournalFileHeader(
      bootID: owner.bootID, storeID: owner.storeID, cut: cut, lastNumber: number, seed: seed)
    let file = try Self.begin("\(directory)/\(JournalFile.name(number)).tmp", header)
    (self.number, self.directory, self.seed, self.file) = (number, directory, seed, file)
  }

  private static func begin(
    _ path: String, _ header: JournalFileHeader
  ) throws(SystemError) -> File {
    let file = try File.kept(path, [.readWrite, .create, .truncate])
    do throws(SystemError) {
      try file.write(header.encoded, at: 0)
    } catch {
      abandon(file)
      throw error
    }
    return file
  }

  func abandon() { Self.abandon(file) }

  private static func abandon(_ file: File) {
    // One that cannot be removed now is removed at the next mount.
    try? FileSystem.unlink(file.path)
  }

  mutating func append(_ record: JournalRecord) throws(SystemError) {
    record.append(to: &buffer)
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Writes the image of an overlay and the checksums of its bytes; returns the unreadable bytes, which have no
  /// checksum.
  @discardableResult
  mutating func append(
    _ overlay: Overlay, epochs: [Epoch: UInt32] = [:], files: DataFiles
  ) throws(SystemError) -> [UInt32: [Range<UInt64>]] {
    try overlay.forEachImageRecord { (record) throws(SystemError) in try append(record) }
    for (epoch, version) in epochs.sorted(by: { $0.key < $1.key }) {
      try append(.epoch(epoch, version: version))
    }
    return try append(sumsOf: LiveBytes(of: overlay), files)
  }

  /// Writes the checksums of bytes; returns the ranges without one.
  @discardableResult
  private mutating func append(
    sumsOf bytes: LiveBytes, _ files: DataFiles
  ) throws(SystemError) -> [UInt32: [Range<UInt64>]] {
    let (records, missing) = files.sumRecords(of: bytes)
    for record in records { try append(record) }
    return missing
  }

  /// Copies the records of another file between two offsets, with `moves` applied; other bytes stay there.
  /// Checksums precede the record that names their bytes, because the other file is read for bytes alone.
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
    try buffer.withBytes { (bytes) throws(SystemError) in try file.write(bytes, at: end) }
    end += UInt64(buffer.count)
    buffer.removeAll(keepingCapacity: Self.bufferSize + Self.bufferSize / 2)
  }

  mutating func sync() throws(SystemError) {
    try flush()
    try file.syncData()
    // The mark tells a torn tail from damage, and which bytes need no check after a power failure.
    try append(.synced(end: end))
  }

  /// Allots the room behind the image; none if it is not needed and the disk is full.
  func makeRoom(isNeeded: Bool) throws(SystemError) -> JournalRoom {
    do throws(SystemError) {
      return try JournalRoom(for: file, expecting: end, in: directory)
    } catch {
      guard error.isNoSpace, !isNeeded else { throw error }
      return JournalRoom()
    }
  }

  /// Renames the file to its final name; a sync of the directory makes that durable.
  func rename(room: JournalRoom, files: DataFiles) throws(SystemError) -> JournalFile {
    let name = JournalFile.name(number)
    try FileSystem.rename(file.path, to: "\(directory)/\(name)")
    files.add(file, number, named: name, isSynced: true)
    return JournalFile(number: number, file: file, seed: seed, end: end, room: room)
  }
}
