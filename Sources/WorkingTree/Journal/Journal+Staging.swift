package import Inodes
package import LLVSCore
import Platform

// Few bytes are written together with the change that names them, many go to a staging file.

/// The frames that the next write brings to the journal file: those of staged bytes that no change names yet. The
/// buffer is kept for the next frames.
final class FrameBuffer: @unchecked Sendable {
  // Unchecked: it is used only while the journal's state is locked.
  @exclusivity(unchecked) var bytes = ByteWriter()
}

extension Journal {
  /// Stages bytes, at least one, for the next changes; returns the extent, which starts at `offset` and can be read
  /// once a change that names it is appended. Throws ``StoreError/system(_:)``, with ENOSPC on a full disk;
  /// ``StoreError/readOnly`` before the first renewal.
  package func stage(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64
  ) throws(StoreError) -> Extent {
    let place: (source: UInt32, offset: UInt64)
    if bytes.count <= Self.inlineLimit {
      place = try hold(bytes)
    } else {
      if let stop = state.withLock({ $0.phase.stop }) { throw stop.error }
      place = try StoreError.translating(try files.stage(bytes))
    }
    return Extent(
      start: offset, length: UInt64(bytes.count), offset: place.offset, source: place.source)
  }

  /// Forgets staged bytes that no change will name.
  package func abandon(_ extent: Extent) {
    files.recorded([extent])
    state.withLock { s in if isHeld(extent, s) { dropHeld(&s) } }
  }

  private func hold(
    _ bytes: UnsafeRawBufferPointer
  ) throws(StoreError) -> (source: UInt32, offset: UInt64) {
    let sum = Checksum.of(bytes)
    return try state.withLock { s throws(StoreError) in
      if let stop = s.phase.stop { throw stop.error }
      try writeHeld(&s)
      let offset = s.file.end + UInt64(JournalFrame.bytesHeaderSize)
      JournalFrame.append(to: &frames.bytes) { frames in
        frames.append(JournalFrame.bytesTag)
        frames.append(bigEndian: sum)
        frames.append(contentsOf: bytes)
      }
      s.held = BytesSum(offset: offset, length: UInt32(bytes.count), sum: sum)
      return (s.file.number, offset)
    }
  }

  /// The largest buffer that is kept: room for held bytes and the change that names them.
  static let mostKept = 4 * inlineLimit

  /// Writes the held bytes, which no change names yet; if it throws, they stay held.
  func writeHeld(_ s: inout State) throws(StoreError) {
    guard s.held != nil else { return }
    try write(isFreeing: false, &s)
  }

  /// Writes the held bytes to the file that a renewal is about to replace, where their extents are; if it throws,
  /// they stay held. No record may name the bytes of an abandoned file.
  func writeHeldToOldFile(_ s: inout State) throws(SystemError) {
    guard let held = s.held else { return }
    if s.phase.stop == nil { try writeFrames(isFreeing: false, &s) }
    files.staged(held, in: s.file.number)
    dropHeld(&s)
  }

  /// True for the extent of the held bytes.
  func isHeld(_ extent: Extent, _ s: State) -> Bool {
    guard let held = s.held else { return false }
    return extent.offset == held.offset && extent.source == s.file.number
  }

  func dropHeld(_ s: inout State) {
    s.held = nil
    frames.bytes.removeAll(keepingCapacity: Self.mostKept)
  }
}
