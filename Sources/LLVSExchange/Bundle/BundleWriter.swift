import LLVSCore

/// Writes one bundle, version by version, predecessors first.
///
/// The changes of a version are written at once, in bounded memory; the descriptions of the
/// versions are kept until the end.
///
/// - Concurrency: for one thread at a time.
final class BundleWriter {
  /// Receives the next bytes of the file.
  typealias Sink = (UnsafeRawBufferPointer) throws(StoreError) -> Void

  private struct Entry {
    let id: Version.ID
    var offset: UInt64
    var length: UInt64
  }

  /// Frames are never read in part, so a higher level than for chunks pays.
  private static let level: Int32 = 3

  private let sink: Sink
  private let compression = Compression()
  private var hasher = SHA256Hasher()
  /// The bytes of the file so far; `content` counts those of the content.
  private(set) var length: UInt64 = 0
  private var content: UInt64 = 0
  private var frame: [UInt8] = []
  private var frames: [(packed: Int, unpacked: Int)] = []
  /// The ranges of the versions' changes in the content.
  private var entries: [Entry] = []
  private var positions: [Version.ID: Int] = [:]
  /// The descriptions of the versions, and their lengths.
  private let versions: Spool
  private var versionLengths: [UInt64] = []

  /// Begins a bundle; `scratch` is a directory for descriptions that are too long for memory.
  init(
    scratch: String, sink: @escaping Sink
  ) throws(StoreError) {
    self.sink = sink
    versions = Spool(directory: scratch, memoryLimit: 16 << 20)
    frame.reserveCapacity(BundleFormat.frameLength)
    try emit(BundleFormat.head)
  }

  /// The number of versions in the bundle.
  var count: Int { entries.count }

  /// True if the next version belongs into another bundle.
  var isFull: Bool {
    length + UInt64(frame.count) + versions.length >= BundleFormat.closingLength
      || entries.count >= BundleFormat.maximumVersions
      || frames.count >= BundleFormat.maximumFrames / 2
  }

  /// Adds a version; the body appends its changes, as ``BundleChangeWriter`` writes them.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` if the version is in the bundle already or cannot be
  ///   written.
  func add(
    _ version: Version, changes body: (@escaping Sink) throws(StoreError) -> Void
  ) throws(StoreError) {
    let index = entries.count
    guard positions.updateValue(index, forKey: version.id) == nil else {
      throw .invalid("a bundle holds a version once")
    }
    let start = content
    try body { [self] (bytes) throws(StoreError) in try append(bytes) }
    var bytes: [UInt8] = []
    try bytes.append(bundled: version) { id in positions[id].map { index - $0 } }
    try bytes.withPiece { (piece) throws(StoreError) in try versions.append(piece) }
    versionLengths.append(UInt64(bytes.count))
    entries.append(Entry(id: version.id, offset: start, length: content - start))
  }

  /// Ends the bundle and returns its length and its hash, which are in its name.
  func finish() throws(StoreError) -> (length: UInt64, hash: Digest) {
    let start = content
    try writeVersions()
    try closeFrame()
    let index = try index(versionsAt: start)
    guard index.count <= BundleFormat.maximumIndex else {
      throw .invalid("an index of more than \(BundleFormat.maximumIndex) bytes")
    }
    let packed = try emitPacked(index)
    var tail: [UInt8] = []
    tail.append(bigEndian: UInt32(packed))
    tail.append(bigEndian: UInt32(index.count))
    try emit(tail + BundleFormat.tailMagic)
    return (length, hasher.finish())
  }

  private func writeVersions() throws(StoreError) {
    let (bytes, file, length) = try versions.drain()
    guard let file else { return try append(bytes) }
    let source = FileSource(file, length: length)
    var offset: UInt64 = 0
    while offset < length {
      let count = Int(min(length - offset, UInt64(BundleFormat.frameLength)))
      var part = [UInt8](repeating: 0, count: count)
      try part.withUnsafeMutableBytes { raw in
        Result<Void, StoreError> { () throws(StoreError) in try source.read(at: offset, into: raw) }
      }.get()
      try append(part)
      offset += UInt64(count)
    }
  }

  private func index(versionsAt start: UInt64) throws(StoreError) -> [UInt8] {
    var index: [UInt8] = []
    index.append(varint: UInt64(frames.count))
    for frame in frames {
      index.append(varint: UInt64(frame.packed))
      index.append(varint: UInt64(frame.unpacked))
    }
    index.append(varint: UInt64(entries.count))
    var offset = start
    for (entry, length) in zip(entries, versionLengths) {
      try index.append(bundled: entry.id)
      for value in [offset, length, entry.offset, entry.length] { index.append(varint: value) }
      offset += length
    }
    return index
  }

  // MARK: The content

  private func append(_ bytes: [UInt8]) throws(StoreError) {
    try bytes.withPiece { (piece) throws(StoreError) in try append(piece) }
  }

  /// Appends to the content.
  private func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = min(rest.count, BundleFormat.frameLength - frame.count)
      frame.append(contentsOf: rest.prefix(count))
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      if frame.count == BundleFormat.frameLength { try closeFrame() }
    }
    content += UInt64(bytes.count)
  }

  private func closeFrame() throws(StoreError) {
    guard !frame.isEmpty else { return }
    guard frames.count < BundleFormat.maximumFrames else {
      throw .invalid("a bundle of more than \(BundleFormat.maximumFrames) frames")
    }
    frames.append((try emitPacked(frame), frame.count))
    frame.removeAll(keepingCapacity: true)
  }

  // MARK: The file

  /// Writes bytes packed, or unpacked if packing saves nothing, and returns how many were written.
  private func emitPacked(_ bytes: [UInt8]) throws(StoreError) -> Int {
    let packed = bytes.withUnsafeBytes { raw in
      compression.frame(of: raw, level: BundleWriter.level, capacity: max(0, raw.count - 1))
    }
    try emit(packed ?? bytes)
    return (packed ?? bytes).count
  }

  private func emit(_ bytes: [UInt8]) throws(StoreError) {
    guard !bytes.isEmpty else { return }
    hasher.update(bytes)
    length += UInt64(bytes.count)
    try bytes.withPiece(sink)
  }
}
