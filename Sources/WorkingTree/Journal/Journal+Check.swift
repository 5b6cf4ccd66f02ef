import Inodes
package import LLVSCore
import Platform

// Reading back all bytes of pending files, for a check.

extension Journal {
  private static let checkedAtOnce: UInt64 = 1 << 20
  /// The most times that a file is read again since it was changed in the meantime.
  private static let attempts = 16

  /// Reads all bytes that pending files have in data files, each compared with its checksum.
  ///
  /// - Parameters:
  ///   - current: returns what is pending now; programs may change files during the check.
  ///   - isCancelled: is asked before each file.
  /// - Returns: a sentence without its period for each file that lacks bytes, which names its path.
  /// - Throws: ``StoreError/cancelled``.
  /// - Complexity: O(bytes in data files).
  package func byteFaults(
    _ current: () -> Overlay, isCancelled: () -> Bool = { false }
  ) throws(StoreError) -> [String] {
    var faults: [String] = []
    let overlay = current()
    for number in overlay.nodes.numbers({ _ in true }).sorted() {
      guard !isCancelled() else { throw .cancelled }
      var file = overlay.nodes[number]?.file
      for _ in 0..<Self.attempts {
        guard let read = file, let error = error(reading: read) else { break }
        // Bytes that programs wrote over may be gone, and a renewal moves bytes.
        let now = current()
        file = now.nodes[number]?.file
        guard file == read else { continue }
        faults.append(
          "\(now.title(number)): \(error.message); write the file again, restore it or remove it")
        break
      }
    }
    return faults
  }

  /// Reads all bytes of a file; returns the first error.
  private func error(reading file: PendingFile) -> StoreError? {
    var bytes = LiveBytes()
    file.forEachExtent { bytes.add($0) }
    for (source, ranges) in bytes.merged {
      for range in ranges {
        var at = range.lowerBound
        while at < range.upperBound {
          let count = min(Self.checkedAtOnce, range.upperBound - at)
          do throws(StoreError) {
            try withUnsafeTemporaryAllocation(byteCount: Int(count), alignment: 1) { buffer in
              Result { () throws(StoreError) in try read(source, at: at, into: buffer) }
            }.get()
          } catch { return error }
          at += count
        }
      }
    }
    return nil
  }
}
