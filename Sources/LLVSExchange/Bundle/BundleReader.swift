import LLVSCore
internal import Platform
internal import Synchronization

/// One whole bundle: its versions, and their changes.
///
/// Everything is checked against the file's name before it is used, and against the bounds of the
/// format before memory is allocated for it.
///
/// - Concurrency: any thread.
final class BundleReader: Sendable {
  struct Entry: Sendable {
    let id: Version.ID
    fileprivate let version: Range<UInt64>
    fileprivate let changes: Range<UInt64>
  }

  private struct Frame {
    /// The frame's offset in the file; `start` is its offset in the content.
    let offset: UInt64
    let packed: Int
    let start: UInt64
    let unpacked: Int
  }

  let name: BundleName
  let entries: [Entry]
  /// The name of the file in messages.
  let label: String
  private let read: Bytes
  private let frames: [Frame]
  private let cache: BundleCache

  /// About the memory that it takes, in bytes.
  var memory: Int { 1024 + entries.count * 128 + frames.count * 32 }

  /// Returns bytes of the bundle: an offset, and how many; fewer at its end.
  typealias Bytes = @Sendable (UInt64, Int) throws(StoreError) -> [UInt8]

  /// Opens a bundle; nil if the file is torn, so that it counts as absent.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` if the bytes match the name and are not a bundle, or one
  ///   of a newer format; otherwise an error of `bytes`.
  static func open(
    _ name: BundleName, cache: BundleCache, check: () throws(StoreError) -> Void,
    bytes: @escaping Bytes
  ) throws(StoreError) -> BundleReader? {
    guard try isWhole(name, check, bytes) else { return nil }
    return try BundleReader(name, bytes, cache: cache)
  }

  /// Returns true if length and hash of the bytes match the name.
  private static func isWhole(
    _ name: BundleName, _ check: () throws(StoreError) -> Void, _ read: Bytes
  ) throws(StoreError) -> Bool {
    var hasher = SHA256Hasher()
    var offset: UInt64 = 0
    let size = Int(min(name.length, 1 << 20)) + 1
    while true {
      try check()
      let bytes = try read(offset, size)
      offset += UInt64(bytes.count)
      // A file longer than its name says is not read to its end, which might never come.
      guard offset <= name.length else { return false }
      bytes.withUnsafeBytes { hasher.update($0) }
      if bytes.count < size { break }
    }
    return offset == name.length && hasher.finish() == name.hash
  }

  private init(
    _ name: BundleName, _ read: @escaping Bytes, cache: BundleCache
  ) throws(StoreError) {
    self.name = name
    self.read = read
    self.cache = cache
    let label = "\(BundleFormat.directory)/\(name.text)"
    self.label = label
    func malformed(_ reason: String) -> StoreError { .invalid("\(label): \(reason)") }
    let headLength = BundleFormat.head.count
    guard name.length >= UInt64(headLength + BundleFormat.tailLength) else {
      throw malformed("it is too short for a bundle")
    }
    let head = try read(0, headLength)
    guard head.starts(with: BundleFormat.head[..<7]), head.count == headLength else {
      throw malformed("it is no bundle")
    }
    guard head == BundleFormat.head else {
      throw malformed("it is encrypted or was made by a newer program")
    }
    let end = name.length - UInt64(BundleFormat.tailLength)
    let tail = try read(end, BundleFormat.tailLength)
    let lengths = tail.withUnsafeBytes { raw -> (packed: Int, unpacked: Int)? in
      guard raw.count == BundleFormat.tailLength,
        raw.dropFirst(8).elementsEqual(BundleFormat.tailMagic)
      else { return nil }
      return (Int(raw.bigEndian(UInt32.self, at: 0)), Int(raw.bigEndian(UInt32.self, at: 4)))
    }
    guard let lengths, lengths.unpacked <= BundleFormat.maximumIndex,
      lengths.packed <= lengths.unpacked, UInt64(lengths.packed) <= end - UInt64(headLength)
    else { throw malformed("its end is malformed") }
    let packed = try read(end - UInt64(lengths.packed), lengths.packed)
    guard let index = cache.compression.unpacked(packed, to: lengths.unpacked) else {
      throw malformed("its index does not unpack")
    }
    guard
      let parsed = index.withUnsafeBytes({ raw in
        BundleReader.parse(raw, upTo: end - UInt64(lengths.packed))
      })
    else { throw malformed("its index is malformed") }
    (frames, entries) = parsed
  }

  private static func parse(
    _ bytes: UnsafeRawBufferPointer, upTo end: UInt64
  ) -> ([Frame], [Entry])? {
    var reader = ByteReader(bytes)
    guard let count = reader.varint(), count <= UInt64(BundleFormat.maximumFrames),
      count <= UInt64(reader.remaining)
    else { return nil }
    var frames: [Frame] = []
    frames.reserveCapacity(Int(count))
    var (offset, content) = (UInt64(BundleFormat.head.count), UInt64(0))
    for _ in 0..<count {
      guard let packed = reader.varint(), let unpacked = reader.varint(), unpacked > 0,
        unpacked <= UInt64(BundleFormat.frameLength), packed <= unpacked, packed <= end - offset
      else { return nil }
      frames.append(
        Frame(offset: offset, packed: Int(packed), start: content, unpacked: Int(unpacked)))
      offset += packed
      content += unpacked
    }
    guard offset == end, let total = reader.varint(), total <= UInt64(BundleFormat.maximumVersions),
      total <= UInt64(reader.remaining)
    else { return nil }
    var entries: [Entry] = []
    entries.reserveCapacity(Int(total))
    // No byte may belong to two versions, so that a short bundle cannot unpack to a long one.
    var unassigned = content
    var known: Set<Version.ID> = []
    for _ in 0..<total {
      guard let id = reader.bundledID(), known.insert(id).inserted,
        let version = range(&reader, within: content),
        let changes = range(&reader, within: content),
        UInt64(version.count) + UInt64(changes.count) <= unassigned
      else { return nil }
      unassigned -= UInt64(version.count) + UInt64(changes.count)
      entries.append(Entry(id: id, version: version, changes: changes))
    }
    return reader.remaining == 0 ? (frames, entries) : nil
  }

  private static func range(_ reader: inout ByteReader, within content: UInt64) -> Range<UInt64>? {
    guard let offset = reader.varint(), let length = reader.varint(), offset <= content,
      length <= content - offset
    else { return nil }
    return offset..<(offset + length)
  }

  // MARK: Versions

  /// Returns the name of a version in messages.
  func label(_ index: Int) -> String { "\(label): version \(entries[index].id.rawValue)" }

  /// Returns a version.
  func version(_ index: Int) throws(StoreError) -> Version {
    let entry = entries[index]
    let longest = ExchangeLimits.metadataLength + (ExchangeLimits.metadataCount + 1) * 4200
    guard entry.version.upperBound - entry.version.lowerBound <= UInt64(longest) else {
      throw .invalid("\(label(index)): its description takes more than \(longest) bytes")
    }
    let bytes = try bytes(entry.version)
    let outcome = bytes.withUnsafeBytes { raw in
      Result<Version, StoreError> { () throws(StoreError) in
        var reader = ByteReader(raw)
        return try reader.bundledVersion(entry.id) { distance in
          distance <= UInt64(index) ? entries[index - Int(distance)].id : nil
        }
      }
    }
    do throws(StoreError) {
      return try outcome.get()
    } catch {
      guard case .invalid(let reason) = error else { throw error }
      throw .invalid("\(label(index)): \(reason)")
    }
  }

  /// Returns the changes of a version.
  func changes(_ index: Int) throws(StoreError) -> BundleChanges {
    try BundleChanges(self, entries[index].changes, label: label(index))
  }

  // MARK: Content

  /// Returns the bytes of a range of the content, all at once.
  private func bytes(_ range: Range<UInt64>) throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = try withContent(at: offset, upTo: range.upperBound) {
        bytes.append(contentsOf: $0)
      }
      offset += UInt64(count)
    }
    return bytes
  }

  /// Calls the body with the bytes from an offset on, up to the end of their frame, and returns
  /// their number.
  func withContent(
    at offset: UInt64, upTo end: UInt64, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(StoreError) -> Int {
    let next = frames.partitioningIndex { $0.start > offset }
    // The caller has checked that the range is within the content.
    guard next > 0 else { throw .invalid("\(label): it has no content") }
    let frame = frames[next - 1]
    let bytes = try unpacked(next - 1)
    let from = Int(offset - frame.start)
    let count = Int(min(UInt64(frame.unpacked - from), end - offset))
    bytes.withUnsafeBytes { body($0.part(from, count)) }
    return count
  }

  private func unpacked(_ index: Int) throws(StoreError) -> [UInt8] {
    if let known = cache.frame(index, of: self) { return known }
    let frame = frames[index]
    let packed = try read(frame.offset, frame.packed)
    guard let bytes = cache.compression.unpacked(packed, to: frame.unpacked) else {
      throw .invalid("\(label): its frame \(index) does not unpack")
    }
    cache.keep(bytes, index, of: self)
    return bytes
  }
}

/// The frames of an exchange's bundles that were unpacked last.
///
/// - Concurrency: any thread.
final class BundleCache: Sendable {
  private struct Kept {
    let bundle: ObjectIdentifier
    let index: Int
    let bytes: [UInt8]
  }

  let compression = Compression()
  // Newest first; a leaf lock, not held while a frame is read.
  private let recent = Mutex<[Kept]>([])
  private static let count = 16

  func frame(_ index: Int, of bundle: BundleReader) -> [UInt8]? {
    recent.withLock { recent in
      recent.first { $0.index == index && $0.bundle == ObjectIdentifier(bundle) }?.bytes
    }
  }

  func keep(_ bytes: [UInt8], _ index: Int, of bundle: BundleReader) {
    let kept = Kept(bundle: ObjectIdentifier(bundle), index: index, bytes: bytes)
    recent.withLock { recent in
      recent.removeAll { $0.index == index && $0.bundle == kept.bundle }
      recent.insert(kept, at: 0)
      if recent.count > BundleCache.count { recent.removeLast() }
    }
  }
}

extension Compression {
  /// Returns bytes of a known length, which are packed or not; nil if they are neither.
  fileprivate func unpacked(_ bytes: [UInt8], to length: Int) -> [UInt8]? {
    if bytes.count == length { return bytes }
    return bytes.withUnsafeBytes { raw in
      let unpacked = self.unpacked(raw, atMost: length)
      return unpacked?.count == length ? unpacked : nil
    }
  }
}
