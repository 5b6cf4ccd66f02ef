internal import Platform
internal import Synchronization

/// The append-only segments: records are written once, checked at every read, and never changed except to repair
/// damage (`RecordStore+Repair.swift`, S7).
///
/// INVARIANT S1 (this half of it here, the other in `Store+Write.swift`): a record is durable before anything
/// refers to it. ``sync()`` returns only when every record appended so far is durable. After a failed write or sync
/// the segment is abandoned: it is never written or synced again, no commit refers to its uncommitted records, and
/// the transaction is rewritten in another segment.
///
/// INVARIANT S3: every read verifies the record's checksum before any of its bytes are used; a
///   record that fails throws ``StoreError/corrupt(_:)`` with the segment and the offset.
///
/// INVARIANT S5: a segment's file may end with zeros that no record uses yet, or after a crash with any bytes, so
/// records are found by their locations only, never by the length of the file. Zeros are written only behind the
/// last record of the open segment, by its writer, and removed when the segment is closed normally; an abandoned
/// segment keeps them. Older segments change only where records are gone (S12) or damaged (S7). On a full disk, and if
/// the caller cancels it, the records of the failed transaction are cut off the abandoned segment.
///
/// A location is not reused within a session, even after a failed transaction, so a cache with ``Location`` as its
/// key never holds the bytes of another record.
/// - Concurrency: one thread writes (the holder of the store's write lock); any number read.
final class RecordStore: NodeStorage, Sendable {
  /// The length, in bytes, at which a new segment begins.
  static let rollover: UInt64 = 256 << 20
  static let bufferSize = 1 << 20
  /// Small commits are written over zeros: a sync that changes neither the file's size nor its blocks takes about
  /// half the time.
  private static let preallocated = 256 << 10
  private static let smallCommit = 64 << 10
  /// After this many small commits in a segment more are expected.
  private static let commitsBeforePreallocation = 4

  private struct Writer {
    var segment: UInt32 = 0
    var file: File?
    /// The records from here on are in `buffer`, earlier ones in the file.
    var flushed: UInt64 = 0
    /// The end of the file when the transaction began, or behind the header of a later file.
    var begun: UInt64 = 0
    /// The segments that the transaction has filled, and the ends before it.
    var left: [(file: File, begun: UInt64)] = []
    var buffer: [UInt8] = []
    /// True if anything was written to the file since its last sync.
    var isDirty = false
    /// True if the directory was not synced since the file was created.
    var isNew = false
    var next: UInt32 = 0
    var limit = RecordStore.rollover
    /// Segments that were filled since the last sync.
    var filled: [File] = []
    var isWritable = false
    /// The end of the file; it holds zeros from `flushed` on.
    var end: UInt64 = 0
    var smallCommits = 0
  }

  let files: SegmentFiles
  /// Nil for records without a store.
  let gone: GoneRecords?
  let compression = Compression()
  let bases = DeltaBases()
  /// Raw bytes of records that patches rest on.
  let patchBases = GenerationCache<Location, [UInt8]>(budget: 16 << 20)
  let mapNodes = NodeCache(budget: 64 << 20)
  // Acquired by the writing thread, and by readers of records that are still in its buffer; held while the buffer
  // is flushed. Order: writer, then the locks inside SegmentFiles and Compression.
  private let writer = Mutex(Writer())
  /// The number of the open segment (high 24 bits) and the length of its written part, for readers.
  private let frontier = Atomic<UInt64>(0)

  /// Begins with segment `next`, a number above those of all segments that a commit refers to.
  init(files: SegmentFiles, next: UInt32, gone: GoneRecords? = nil) {
    self.files = files
    self.gone = gone
    writer.withLock { $0.next = next }
  }

  /// Allows appending; outside of transactions it is forbidden.
  func beginWriting() {
    writer.withLock { writer in
      writer.isWritable = true
      writer.begun = writer.flushed
      writer.left = []
    }
  }

  func endWriting() { writer.withLock { $0.isWritable = false } }

  /// Cuts the records of a cancelled transaction off its segments, and abandons the last of them.
  func discard() {
    writer.withLock { writer in
      let isUnused = writer.left.isEmpty && writer.flushed == writer.begun && writer.buffer.isEmpty
      guard !isUnused else { return }
      if let file = writer.file { writer.left.append((file, writer.begun)) }
      // If this fails the records stay: bytes that no commit refers to have no meaning.
      for (file, begun) in writer.left { try? file.truncate(to: begun) }
      writer.left = []
      abandon(&writer)
    }
  }

  /// Appends a record; `packed` is the result of ``packed(_:_:)``, if the caller has it.
  func append(
    _ kind: RecordKind, _ bytes: UnsafeRawBufferPointer, packed: PackedRecord? = nil
  ) throws(StoreError) -> Location {
    let packed = packed ?? self.packed(kind, bytes)
    guard bytes.count <= kind.bound else {
      throw .invalid("a record of \(bytes.count) bytes is over the bound of \(kind.bound)")
    }
    guard let payload = packed.payload else { return try append(packed.header, bytes) }
    return try payload.withPiece { (raw) throws(StoreError) in try append(packed.header, raw) }
  }

  /// Returns a record's fields and payload, ready to be appended.
  func packed(_ kind: RecordKind, _ bytes: UnsafeRawBufferPointer) -> PackedRecord {
    guard let packed = compression.compressed(bytes, level: kind.compressionLevel) else {
      return PackedRecord(
        header: RecordHeader(kind: kind, flags: 0, payload: bytes, rawLength: bytes.count),
        payload: nil)
    }
    let header = packed.withUnsafeBytes {
      RecordHeader(
        kind: kind, flags: SegmentFormat.isCompressed, payload: $0, rawLength: bytes.count)
    }
    return PackedRecord(header: header, payload: packed)
  }

  func append(
    _ header: RecordHeader, _ payload: UnsafeRawBufferPointer
  ) throws(StoreError) -> Location {
    let length = SegmentFormat.recordHeaderSize + payload.count
    return try writer.withLock { writer throws(StoreError) in
      guard writer.isWritable else { throw .readOnly }
      if writer.file == nil { try open(&writer) }
      let offset = writer.flushed + UInt64(writer.buffer.count)
      withUnsafeTemporaryAllocation(byteCount: SegmentFormat.recordHeaderSize, alignment: 8) {
        header.write(to: $0)
        writer.buffer.append(contentsOf: $0)
      }
      writer.buffer.append(contentsOf: payload)
      if writer.buffer.count >= RecordStore.bufferSize {
        let start = writer.flushed
        try flush(&writer)
        // The disk works while the next records are made, so the commit waits less.
        writer.file?.startWriteback(start..<writer.flushed)
      }
      let location = Location(segment: writer.segment, offset: offset, length: UInt32(length))
      // If a commit has filled the segment, the buffer has the records since then.
      if writer.flushed >= writer.limit {
        try flush(&writer)
        roll(&writer)
      }
      return location
    }
  }

  /// Changes the length at which a new segment begins from 256 MiB, for tests.
  func limitSegments(to bytes: UInt64) { writer.withLock { $0.limit = bytes } }

  /// Begins writing the appended records, to shorten the ``sync()`` that must follow.
  func startSync() throws(StoreError) {
    try writer.withLock { writer throws(StoreError) in
      let start = writer.flushed
      try flushCommit(&writer)
      guard writer.isDirty, start < writer.flushed else { return }
      writer.file?.startWriteback(start..<max(writer.flushed, writer.end))
    }
  }

  /// Makes every record appended so far durable.
  /// - Throws: ``StoreError/system(_:)``; then nothing may ever refer to these records.
  func sync() throws(StoreError) {
    let (dirty, directoryIsDue) = try collectDirty()
    do throws(SystemError) {
      for file in dirty { try file.syncData() }
      if directoryIsDue { try FileSystem.syncDirectory(files.directory) }
    } catch {
      writer.withLock { abandon(&$0) }
      throw .system(error)
    }
  }

  /// Flushes, and returns the files to sync, so that the lock is not held during the sync.
  private func collectDirty() throws(StoreError) -> ([File], isDirectoryDue: Bool) {
    try writer.withLock { writer throws(StoreError) in
      try flushCommit(&writer)
      var dirty = writer.filled
      if writer.isDirty, let file = writer.file { dirty.append(file) }
      defer { (writer.filled, writer.isDirty, writer.isNew) = ([], false, false) }
      return (dirty, writer.isNew)
    }
  }

  private func flushCommit(_ writer: inout Writer) throws(StoreError) {
    let isSmall = !writer.buffer.isEmpty && writer.buffer.count < RecordStore.smallCommit
    try flush(&writer)
    if isSmall { preallocate(&writer) }
  }

  /// Closes the open segment permanently: after an error nothing more is written to it.
  private func abandon(_ writer: inout Writer) {
    (writer.file, writer.buffer, writer.filled, writer.isDirty) = (nil, [], [], false)
    writer.flushed = 0
    frontier.store(0, ordering: .releasing)
  }

  private func open(_ writer: inout Writer) throws(StoreError) {
    let number = max(writer.next, 1)
    guard number < 1 << 24 else { throw .noSpace("the store has used up its segment numbers") }
    let path = files.path(number)
    try StoreError.wrapping { () throws(SystemError) in
      let file = try File.kept(path, [.readWrite, .create, .exclusive])
      // The number is used up even if writing the header fails.
      writer.next = number + 1
      let header = SegmentFormat.header(number: number, store: files.store)
      try file.write(header, at: 0)
      writer.segment = number
      writer.file = file
      writer.flushed = UInt64(header.count)
      writer.begun = writer.flushed
      writer.buffer.reserveCapacity(RecordStore.bufferSize + 65_536)
      writer.isDirty = true
      writer.isNew = true
      writer.end = 0
      writer.smallCommits = 0
      files.insert(SegmentFile(file: file, runs: nil), for: number)
      publish(writer)
    }
  }

  private func flush(_ writer: inout Writer) throws(StoreError) {
    guard let file = writer.file, !writer.buffer.isEmpty else { return }
    do throws(SystemError) {
      try writer.buffer.withPiece { (bytes) throws(SystemError) in
        try file.write(bytes, at: writer.flushed)
      }
    } catch {
      // The file's bytes from `flushed` on are unknown: nothing is ever written behind them.
      if error.isFull { try? file.truncate(to: writer.begun) }
      abandon(&writer)
      throw .system(error)
    }
    writer.flushed += UInt64(writer.buffer.count)
    writer.buffer.removeAll(keepingCapacity: writer.buffer.count <= 2 * RecordStore.bufferSize)
    writer.isDirty = true
    publish(writer)
  }

  /// Writes zeros ahead of the next small commits; they are synced with this one.
  private func preallocate(_ writer: inout Writer) {
    writer.smallCommits += 1
    guard writer.smallCommits > RecordStore.commitsBeforePreallocation,
      writer.flushed + UInt64(RecordStore.smallCommit / 2) > writer.end, let file = writer.file
    else { return }
    let from = max(writer.flushed, writer.end)
    let to = writer.flushed + UInt64(RecordStore.preallocated)
    guard file.makeRoom(from: from, to: to) else {
      // Later there may be space; records do not depend on the zeros.
      writer.smallCommits = 0
      return
    }
    writer.end = to
  }

  /// Removes the zeros that no commit has used.
  private static func trim(_ writer: inout Writer) {
    guard let file = writer.file, writer.end > writer.flushed else { return }
    // If this fails they stay: bytes behind the last record have no meaning.
    try? file.truncate(to: writer.flushed)
    (writer.end, writer.smallCommits) = (0, 0)
  }

  /// Removes the zeros behind the last record: no later process appends to the segment.
  func trim() { writer.withLock { RecordStore.trim(&$0) } }
  deinit { trim() }

  private func roll(_ writer: inout Writer) {
    RecordStore.trim(&writer)
    if let file = writer.file {
      if writer.isDirty { writer.filled.append(file) }
      if writer.isWritable { writer.left.append((file, writer.begun)) }
    }
    writer.file = nil
    writer.isDirty = false
    frontier.store(0, ordering: .releasing)
  }

  /// Ends appending to a segment if no transaction does; true if no process appends to it from now on.
  func closeIfIdle(_ segment: UInt32) -> Bool {
    writer.withLock { writer in
      guard writer.file != nil, writer.segment == segment else { return true }
      guard !writer.isWritable, writer.buffer.isEmpty, !writer.isDirty else { return false }
      roll(&writer)
      return true
    }
  }

  private func publish(_ writer: Writer) {
    frontier.store(UInt64(writer.segment) << 40 | writer.flushed, ordering: .releasing)
  }

  func readNode(at location: Location) throws(StoreError) -> [UInt8] {
    try read(.mapNode, at: location)
  }

  func read(_ kind: RecordKind, at location: Location) throws(StoreError) -> [UInt8] {
    let (header, payload) = try readPacked(at: location)
    guard header.kind == kind else { throw damage(location, "holds a record of another kind") }
    if header.isDelta { return try readDelta(header, payload, at: location) }
    if kind == .mapNode { bases.record(location, base: location) }
    return try unpacked(header, payload, at: location)
  }

  /// Returns the raw bytes of a record that is not a difference, from its payload.
  func unpacked(
    _ header: RecordHeader, _ payload: [UInt8], at location: Location
  ) throws(StoreError) -> [UInt8] {
    guard header.isCompressed else { return payload }
    return try [UInt8](count: header.rawLength) { (out) throws(StoreError) in
      guard payload.withUnsafeBytes({ compression.decompress($0, into: out) }) else {
        throw damage(location, "does not decompress")
      }
      return header.rawLength
    }
  }

  /// Returns a record's fields and its payload as it is on disk, after checking its checksum.
  /// - Throws: ``StoreError/forgotten(_:)`` if the record is gone (S14).
  func readPacked(at location: Location) throws(StoreError) -> (RecordHeader, [UInt8]) {
    do throws(StoreError) {
      return try readWritten(at: location)
    } catch {
      guard case .corrupt = error, try gone?.contains(location) ?? false else { throw error }
      throw .forgotten("bytes of an old version are asked for, which this store has forgotten")
    }
  }

  private func readWritten(at location: Location) throws(StoreError) -> (RecordHeader, [UInt8]) {
    let size = Int(location.length) - SegmentFormat.recordHeaderSize
    guard size >= 0, size <= RecordKind.mapNode.bound, location.segment > 0 else {
      throw damage(location, "is not the place of a record")
    }
    if !isWritten(location), let record = buffered(location) {
      return try record.withPiece { (bytes) throws(StoreError) in
        let payload = UnsafeRawBufferPointer(
          rebasing: bytes[SegmentFormat.recordHeaderSize...])
        return (try check(location, bytes, payload), Array(payload))
      }
    }
    let opened = try files.file(location.segment)
    guard let offset = try opened.offset(of: location) else {
      throw damage(location, "is not in the file any more")
    }
    var header: RecordHeader?
    let payload = try [UInt8](count: size) { (out) throws(StoreError) in
      let read = withUnsafeTemporaryAllocation(
        byteCount: SegmentFormat.recordHeaderSize, alignment: 8
      ) { fields in
        Result { () throws(StoreError) in
          let count = try StoreError.translating(
            try opened.file.read(into: fields, then: out, at: offset))
          guard count == Int(location.length) else {
            throw damage(location, "is beyond the end of the file")
          }
          return try check(location, UnsafeRawBufferPointer(fields), UnsafeRawBufferPointer(out))
        }
      }
      header = try read.get()
      return size
    }
    guard let header else { throw damage(location, "cannot be read") }
    return (header, payload)
  }

  /// Returns true if a record is no longer in the write buffer.
  func isWritten(_ location: Location) -> Bool {
    let published = frontier.load(ordering: .acquiring)
    return UInt32(truncatingIfNeeded: published >> 40) != location.segment
      || location.offset < published & (1 << 40 - 1)
  }

  /// Returns the bytes of a record that is still in the write buffer; nil once it is in the file.
  private func buffered(_ location: Location) -> [UInt8]? {
    writer.withLock { writer in
      guard writer.segment == location.segment, writer.file != nil,
        location.offset >= writer.flushed
      else { return nil }
      let start = Int(location.offset - writer.flushed)
      let end = start + Int(location.length)
      guard end <= writer.buffer.count else { return nil }
      return Array(writer.buffer[start..<end])
    }
  }

  func check(
    _ location: Location, _ fields: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
  ) throws(StoreError) -> RecordHeader {
    guard let header = RecordHeader(fields), header.payloadLength == payload.count else {
      throw damage(location, "has no record of that length")
    }
    guard header.checksum == header.expectedChecksum(payload) else {
      throw damage(location, "does not match its checksum")
    }
    return header
  }

  func damage(_ location: Location, _ what: String) -> StoreError {
    .corrupt(
      "\(files.path(location.segment)) offset \(location.offset) length \(location.length) \(what)")
  }
}
