// Zeros written ahead of small writes that are synced one by one: a sync that changes neither a
// file's size nor its blocks takes about half the time of one that does.

extension File {
  /// With fewer available bytes on the disk nothing is written ahead.
  private static let leastAvailable: UInt64 = 64 << 20
  private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

  /// Writes zeros behind the file's end, over which later writes go.
  ///
  /// Nothing depends on it: if it fails, or the disk is nearly full, the file ends where it did.
  ///
  /// - Parameters:
  ///   - end: the offset at which the file ends.
  ///   - newEnd: the offset at which it is to end.
  ///   - isAllotted: the file has its blocks already (``allocate(_:keepingSize:)``) and keeps them:
  ///     if writing fails then, some of the zeros may be there.
  /// - Returns: true if the zeros are there; they are on the disk after the next sync.
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
      // If the disk could not take all zeros, those that were written are removed again.
      if !isAllotted { try? truncate(to: end) }
      return false
    }
  }
}
