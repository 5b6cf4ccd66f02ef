internal import CZstd

/// zstd frames for exchanges: complete, with their length, unpacked within a bound.
package enum Zstd {
  /// The level for data that is sent once and read by all.
  private static let level: Int32 = 9
  /// A long input makes its context large, so only short inputs use a kept one.
  private static let short = 65_536
  private static let contexts = Compression()

  package static func pack(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] {
    let frame = bytes.withUnsafeBytes { raw in
      (raw.count <= short ? contexts : Compression()).frame(
        of: raw, level: level, capacity: ZSTD_compressBound(raw.count))
    }
    guard let frame else { throw .noSpace("memory for compression") }
    return frame
  }

  /// Unpacks exactly one frame; nil if it is damaged or holds more than `bound` bytes. Allocates at most the length
  /// that the frame states, and at most `bound`.
  package static func unpack(_ frame: [UInt8], atMost bound: Int) -> [UInt8]? {
    frame.withUnsafeBytes { raw in
      guard ZSTD_findFrameCompressedSize(raw.baseAddress, raw.count) == raw.count else {
        return nil
      }
      let stated = ZSTD_getFrameContentSize(raw.baseAddress, raw.count)
      // zstd.h: the two highest values mean "unknown" and "error".
      guard stated != UInt64.max - 1 else { return nil }
      let capacity = stated == UInt64.max ? bound : Int(clamping: stated)
      guard capacity <= bound else { return nil }
      return contexts.unpacked(raw, atMost: capacity)
    }
  }
}
