// Room ahead of small writes that are synced one by one: a sync that changes neither a file's size nor its
// blocks takes about half the time of one that does.

extension File {
  /// On a disk with less than this left nothing is written ahead.
  private static let leastAvailable: UInt64 = 64 << 20
  private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

  /// Writes zeros from the file's end on, for what is written there later.
  ///
  /// Nothing depends on it: where it fails, or the disk is nearly full, the file ends where it did.
  ///
  /// - Parameters:
  ///   - end: where the file ends.
  ///   - newEnd: where it ends then.
  ///   - isAllotted: the file has the blocks already (``allocate(_:keepingSize:)``), and keeps them: where it
  ///     fails then, some of the zeros may be there.
  /// - Returns: whether the zeros are there; they are on the disk after the next sync.
  package func makeRoom(
    from end: UInt64, to newEnd: UInt64, isAllotted: Bool = false
  ) -> Bool {
    guard newEnd > end else { return true }
    do throws(SystemError) {
      if !isAllotted {
        guard try fileSystem().availableBytes >= File.leastAvailable else { return false }
      }
      var offset = end
      while offset < newEnd {
        let count = Int(min(newEnd - offset, UInt64(File.zeros.count)))
        try unsafe withBytes(of: File.zeros) { (raw) throws(SystemError) in
          try unsafe write(UnsafeRawBufferPointer(rebasing: raw[..<count]), at: offset)
        }
        offset += UInt64(count)
      }
      return true
    } catch {
      // A disk that could not take all of them is not to be filled by the rest.
      if !isAllotted { try? truncate(to: end) }
      return false
    }
  }
}
