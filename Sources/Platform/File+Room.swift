// Zeros written ahead of small synced writes: a sync that changes neither size nor blocks takes half the time.

extension File {
  /// With less room on the disk nothing is written ahead.
  private static let leastAvailable: UInt64 = 64 << 20
  private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

  /// Writes zeros from the file's `end` to `newEnd`; true if it did. `isAllotted` says that the file has its blocks
  /// and keeps them. Nothing depends on the zeros: after a failure there are none or some.
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
      // Removes the zeros that were written.
      if !isAllotted { try? truncate(to: end) }
      return false
    }
  }
}
