internal import Platform

/// The table of a segment that was rewritten without its forgotten records (format 5).
///
/// A run is a part of the segment that was copied as a whole. It has the offset before, which locations have, and the
/// offset in the file. The runs are ascending in both. The table is on the disk, in blocks with checksums, and
/// memory has only the first offset of each block.
struct SegmentRuns: Sendable {
  struct Run: Hashable, Sendable {
    /// The offsets that locations have.
    var range: Range<UInt64>
    /// The offset in the file.
    var place: UInt64

    var length: UInt64 { range.upperBound - range.lowerBound }
    var end: UInt64 { place + length }
  }

  private static let runSize = 24
  private static let blockCount = 170
  private static let sumSize = 8

  /// The number of runs.
  private let count: Int
  /// The offset of each block's first run.
  private let firsts: [UInt64]

  private static func blocks(_ count: Int) -> Int { (count + blockCount - 1) / blockCount }

  /// The length of the table of `count` runs, in bytes.
  static func tableSize(_ count: Int) -> UInt64 {
    UInt64(count * runSize + blocks(count) * (8 + sumSize) + sumSize)
  }

  private var firstBlock: UInt64 {
    UInt64(SegmentFormat.headerSize + firsts.count * 8 + Self.sumSize)
  }

  /// The offset of the first run in the file.
  private var begin: UInt64 { UInt64(SegmentFormat.headerSize) + Self.tableSize(count) }

  // MARK: - Writing

  /// Returns the table of parts of a segment that are copied one behind the other, and the runs.
  static func table(of ranges: [Range<UInt64>]) -> (bytes: [UInt8], runs: [Run]) {
    var place = UInt64(SegmentFormat.headerSize) + tableSize(ranges.count)
    var runs: [Run] = []
    runs.reserveCapacity(ranges.count)
    for range in ranges {
      runs.append(Run(range: range, place: place))
      place += range.upperBound - range.lowerBound
    }
    var firsts: [UInt8] = []
    var blocks: [UInt8] = []
    for start in stride(from: 0, to: runs.count, by: blockCount) {
      firsts.append(bigEndian: runs[start].range.lowerBound)
      var block: [UInt8] = []
      for run in runs[start..<min(start + blockCount, runs.count)] {
        block.append(bigEndian: run.range.lowerBound)
        block.append(bigEndian: run.range.upperBound)
        block.append(bigEndian: run.place)
      }
      block.append(bigEndian: block.withUnsafeBytes { Checksum.of($0) })
      blocks += block
    }
    firsts.append(bigEndian: firsts.withUnsafeBytes { Checksum.of($0) })
    return (firsts + blocks, runs)
  }

  // MARK: - Reading

  /// Reads the table's list of blocks; `count` is that of the header.
  /// - Throws: ``StoreError/corrupt(_:)`` if it is damaged.
  init(of file: File, count: Int) throws(StoreError) {
    self.count = count
    let length = Self.blocks(count) * 8
    let bytes = try StoreError.translating(
      try file.read(length + Self.sumSize, at: UInt64(SegmentFormat.headerSize)))
    guard let list = Self.checked(bytes, length: length) else { throw Self.damaged(file) }
    firsts = stride(from: 0, to: length, by: 8).map { Self.integer(list, at: $0) }
  }

  private static func damaged(_ file: File) -> StoreError {
    .corrupt("\(file.path): the table of its parts is damaged")
  }

  private static func integer(_ bytes: [UInt8], at offset: Int) -> UInt64 {
    bytes.withUnsafeBytes {
      UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
  }

  private static func checked(_ bytes: [UInt8], length: Int) -> [UInt8]? {
    guard bytes.count == length + sumSize else { return nil }
    let list = Array(bytes.prefix(length))
    let sum = list.withUnsafeBytes { Checksum.of($0) }
    return sum == integer(bytes, at: length) ? list : nil
  }

  private func runs(ofBlock index: Int, in file: File) throws(StoreError) -> [Run] {
    let before = index * Self.blockCount
    let length = min(Self.blockCount, count - before) * Self.runSize
    let offset = firstBlock + UInt64(before * Self.runSize + index * Self.sumSize)
    let bytes = try StoreError.translating(try file.read(length + Self.sumSize, at: offset))
    guard let block = Self.checked(bytes, length: length) else { throw Self.damaged(file) }
    var runs: [Run] = []
    for at in stride(from: 0, to: length, by: Self.runSize) {
      let (start, end) = (Self.integer(block, at: at), Self.integer(block, at: at + 8))
      let place = Self.integer(block, at: at + 16)
      guard start < end, end <= 1 << 40, place >= begin, place <= 1 << 40 else {
        throw Self.damaged(file)
      }
      runs.append(Run(range: start..<end, place: place))
    }
    return runs
  }

  /// Returns the run that has an offset, or the first one behind it; nil if none follows.
  func run(from offset: UInt64, in file: File) throws(StoreError) -> Run? {
    let next = firsts.partitioningIndex { $0 > offset }
    for block in max(0, next - 1)..<max(next, min(next + 1, firsts.count)) {
      let runs = try runs(ofBlock: block, in: file)
      let index = runs.partitioningIndex { $0.range.upperBound > offset }
      if index < runs.count { return runs[index] }
    }
    return nil
  }

  /// All runs.
  func all(in file: File) throws(StoreError) -> [Run] {
    var runs: [Run] = []
    for block in firsts.indices { runs += try self.runs(ofBlock: block, in: file) }
    return runs
  }
}
