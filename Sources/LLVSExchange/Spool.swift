import LLVSCore
internal import Platform

/// Bytes in pieces: in memory while few, else in an unnamed file, with holes for a peer's terabytes of zeros.
/// - Concurrency: for one thread at a time.
final class Spool {
  private static let block = 65_536
  static let filePrefix = "incoming-"
  private let directory: String
  private let memoryLimit: Int
  private var bytes: [UInt8] = []
  private var file: File?
  private(set) var length: UInt64 = 0

  init(directory: String, memoryLimit: Int = 1 << 20) {
    self.directory = directory
    self.memoryLimit = memoryLimit
  }

  func append(_ piece: UnsafeRawBufferPointer) throws(StoreError) {
    bytes.append(contentsOf: piece)
    length += UInt64(piece.count)
    if bytes.count > memoryLimit { try spill() }
  }

  /// - Throws: ``StoreError/invalid(_:)`` if there are more than a file can hold.
  func append(zeros count: UInt64) throws(StoreError) {
    // No file system holds more.
    guard count <= UInt64(Int64.max) - length else {
      throw .invalid("a value is longer than files can be")
    }
    if count > UInt64(Self.block) {
      try spill()
      length += count
      return
    }
    let zeros = [UInt8](repeating: 0, count: Int(count))
    try zeros.withPiece { (piece) throws(StoreError) in try append(piece) }
  }

  private func spill() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      let file =
        if let known = self.file { known } else {
          try File.unnamed("\(directory)/\(Self.filePrefix)\(SystemRandom.hex(8))")
        }
      self.file = file
      try write(to: file)
    }
    bytes.removeAll(keepingCapacity: true)
  }

  private func write(to file: File) throws(SystemError) {
    let start = length - UInt64(bytes.count)
    for range in dataRanges {
      let part = range.count == bytes.count ? bytes : Array(bytes[range])
      try file.write(part, at: start + UInt64(range.lowerBound))
    }
  }

  /// The ranges in memory except blocks of zeros.
  private var dataRanges: [Range<Int>] {
    bytes.withUnsafeBytes { raw in
      var ranges: [Range<Int>] = []
      for begin in stride(from: 0, to: raw.count, by: Self.block) {
        let end = min(raw.count, begin + Self.block)
        let part = UnsafeRawBufferPointer(rebasing: raw[begin..<end])
        guard ValueChunking.leadingZeros(part) < part.count else { continue }
        if let last = ranges.last, last.upperBound == begin {
          ranges[ranges.count - 1] = last.lowerBound..<end
        } else {
          ranges.append(begin..<end)
        }
      }
      return ranges
    }
  }

  func drain() throws(StoreError) -> (bytes: [UInt8], file: File?, length: UInt64) {
    if let file {
      if !bytes.isEmpty { try spill() }
      do throws(SystemError) {
        try file.truncate(to: length)
      } catch {
        guard error.errno == Errno.fileTooBig else { throw .system(error) }
        throw .invalid("a value of \(length) bytes is longer than files can be here")
      }
    }
    defer {
      bytes = []
      file = nil
      length = 0
    }
    return (bytes, file, length)
  }
}

/// Stores values that come in pieces, in a transaction.
final class TransactionSink: WireValueSink {
  private let transaction: WriteTransaction
  private let spool: Spool
  /// The name of the current version in messages.
  private var label = ""
  /// The map of the version before the current one.
  var base: ValueMap?

  init(_ transaction: WriteTransaction) {
    self.transaction = transaction
    spool = Spool(directory: transaction.store.path)
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) { try spool.append(bytes) }

  func append(zeros count: UInt64) throws(StoreError) {
    try named { () throws(StoreError) in try spool.append(zeros: count) }
  }

  func finish(at key: Key?) throws(StoreError) -> StoredContent {
    let (bytes, file, length) = try named { () throws(StoreError) in try spool.drain() }
    let prior = prior(at: key)
    guard let file else { return try transaction.write(bytes, after: prior) }
    return try transaction.write(FileSource(file, length: length), after: prior)
  }

  func absent(_ digest: Digest, length: UInt64) throws(StoreError) -> StoredContent {
    _ = try spool.drain()
    // This store may have what the source has forgotten.
    if let bytes = transaction.store.contents.bytes(ofChunk: digest), UInt64(bytes.count) == length,
      bytes.count <= ValueChunking.singleChunk
    {
      return try transaction.write(bytes)
    }
    return transaction.absentValue(digest, length: length)
  }

  func store(_ value: ReadyValue, at key: Key) throws(StoreError) -> StoredContent {
    try transaction.write(value, after: prior(at: key))
  }

  /// The value that the version before has; a map that cannot be read fails where its entries are needed.
  private func prior(at key: Key?) -> StoredContent? {
    key.flatMap { try? base?.entry(at: $0) }?.stored
  }

  /// Drops a value that came in part, and begins with the next version.
  func reset(_ label: String) throws(StoreError) {
    self.label = label
    _ = try spool.drain()
  }

  private func named<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch .invalid(let reason) {
      throw .invalid("\(label): \(reason)")
    }
  }
}
