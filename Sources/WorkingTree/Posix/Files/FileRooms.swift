import Inodes

// Room from fallocate(2) without bytes: it counts among a file's blocks and is not free. It is kept in memory while
// the tree is mounted, and not reserved on the disk.

struct FileRooms {
  /// The block size of ext4 and of stat(2) here.
  static let blockSize: UInt64 = 4096
  /// By inode; the sources in the lists have no meaning.
  private var ranges: [InodeNumber: ExtentList] = [:]
  private(set) var total: UInt64 = 0

  /// Returns the whole blocks that a range touches.
  static func blocks(of range: Range<UInt64>) -> Range<UInt64> {
    let first = range.lowerBound / blockSize * blockSize
    let (last, overflows) = range.upperBound.addingReportingOverflow(blockSize - 1)
    return first..<(overflows ? range.upperBound : max(first, last / blockSize * blockSize))
  }

  func bytes(of inode: InodeNumber) -> UInt64 { ranges[inode]?.covered ?? 0 }

  /// Gives room to a range that holds no bytes.
  mutating func add(_ range: Range<UInt64>, to inode: InodeNumber) {
    change(inode) {
      $0.put(
        Extent(
          start: range.lowerBound, length: UInt64(range.count), offset: range.lowerBound,
          source: Extent.base))
    }
  }

  mutating func take(_ range: Range<UInt64>, from inode: InodeNumber) {
    guard !ranges.isEmpty, ranges[inode] != nil else { return }
    change(inode) { $0.clear(range) }
  }

  /// Takes the room behind the last block of a file that becomes shorter.
  mutating func cutOff(_ inode: InodeNumber, at size: UInt64) {
    take(Self.blocks(of: 0..<size).upperBound..<UInt64.max, from: inode)
  }

  mutating func remove(_ inode: InodeNumber) {
    guard !ranges.isEmpty else { return }
    total -= ranges.removeValue(forKey: inode)?.covered ?? 0
  }

  private mutating func change(_ inode: InodeNumber, _ body: (inout ExtentList) -> Void) {
    var list = ranges[inode] ?? ExtentList()
    total -= list.covered
    body(&list)
    total += list.covered
    ranges[inode] = list.isEmpty ? nil : list
  }
}
