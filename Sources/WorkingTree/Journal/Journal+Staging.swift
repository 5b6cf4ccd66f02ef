package import Inodes
package import LLVSCore
import Platform

// Few bytes are written together with the change that names them, many go to a staging file.

/// Staged bytes that no change names yet, to be written before the next record.
struct HeldBytes {
  var frame: [UInt8]
  /// Their checksum, with their future place in the journal file.
  let sum: BytesSum
}

extension Journal {
  /// Stages bytes for the next changes; returns the extents, which start at `offset` and can be read once a change
  /// that names them is appended. Throws ``StoreError/system(_:)``, with ENOSPC on a full disk;
  /// ``StoreError/readOnly`` before the first renewal.
  package func stage(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64
  ) throws(StoreError) -> [Extent] {
    guard !bytes.isEmpty else { return [] }
    let place: (source: UInt32, offset: UInt64)
    if bytes.count <= Self.inlineLimit {
      place = try hold(bytes)
    } else {
      if let stop = state.withLock({ $0.phase.stop }) { throw stop.error }
      place = try StoreError.translating(try files.stage(bytes))
    }
    return [
      Extent(start: offset, length: UInt64(bytes.count), offset: place.offset, source: place.source)
    ]
  }

  /// Forgets staged bytes that no change will name.
  package func abandon(_ extents: [Extent]) {
    files.recorded(extents)
    state.withLock { drop(extents, &$0) }
  }

  private func hold(
    _ bytes: UnsafeRawBufferPointer
  ) throws(StoreError) -> (source: UInt32, offset: UInt64) {
    let sum = Checksum.of(bytes)
    var frame: [UInt8] = []
    frame.reserveCapacity(JournalFrame.bytesHeaderSize + bytes.count + Self.roomOfChange)
    JournalFrame.append(to: &frame) { frame in
      frame.append(JournalFrame.bytesTag)
      frame.append(bigEndian: sum)
      frame.append(contentsOf: bytes)
    }
    return try state.withLock { s throws(StoreError) in
      if let stop = s.phase.stop { throw stop.error }
      try writeHeld(&s)
      let offset = s.file.end + UInt64(JournalFrame.bytesHeaderSize)
      s.held = HeldBytes(
        frame: frame, sum: BytesSum(offset: offset, length: UInt32(bytes.count), sum: sum))
      return (s.file.number, offset)
    }
  }

  /// The bytes of most changes' records, reserved to save an allocation.
  static let roomOfChange = 256

  /// Writes the held bytes, which no change names yet; if it throws, they stay held.
  func writeHeld(_ s: inout State) throws(StoreError) {
    guard s.held != nil else { return }
    var nothing: [UInt8] = []
    try write(&nothing, isFreeing: false, &s)
  }

  /// Writes the held bytes to the file that a renewal is about to replace, where their extents are; if it throws,
  /// they stay held. No record may name the bytes of an abandoned file.
  func writeHeldToOldFile(_ s: inout State) throws(SystemError) {
    guard var held = s.held else { return }
    if s.phase.stop == nil { try append(&held.frame, isFreeing: false, &s) }
    files.staged(held.sum, in: s.file.number)
    s.held = nil
  }

  func drop(_ extents: [Extent], _ s: inout State) {
    guard let held = s.held else { return }
    let isHeld = extents.contains { $0.source == s.file.number && $0.offset == held.sum.offset }
    if isHeld { s.held = nil }
  }
}
