import Inodes
package import LLVSCore
import Platform

extension Journal {
  private static let checkedAtOnce: UInt64 = 1 << 20
  /// The most times that a file that changes during the check is read again.
  private static let attempts = 16

  /// Returns a sentence without period for each pending file with missing or damaged bytes, in O(bytes in data
  /// files).
  ///
  /// `current` returns what is pending now, because programs may change files during the check.
  ///
  /// - Throws: ``StoreError/cancelled``; `isCancelled` is called before each file.
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
        // Overwritten bytes may be gone, and a renewal moves bytes.
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
