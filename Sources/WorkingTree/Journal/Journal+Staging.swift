package import Inodes
package import LLVSCore
import Platform

// Bytes on their way into the journal: few are written together with the change that names them, many go to a
// staging file.

/// Bytes that were staged and that no file has yet.
///
/// They are written before whatever comes next, so their place is known already.
struct HeldBytes {
  /// The frame of the bytes, not sealed.
  var frame: [UInt8]
  /// Their checksum, with the place that they will have in the journal file.
  let sum: BytesSum
}

extension Journal {
  /// Puts bytes where the changes that are appended next can name them.
  ///
  /// - Returns: the runs in which the bytes stand; their `start` counts from `offset`. They are kept until a
  ///   change that writes them is appended, or ``abandon(_:)``. They can be read once that change is appended.
  /// - Throws: ``StoreError/system(_:)``, with ENOSPC on a full disk; ``StoreError/readOnly`` before the first
  ///   renewal.
  package func stage(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64
  ) throws(StoreError) -> [Extent] {
    guard !bytes.isEmpty else { return [] }
    let place: (source: UInt32, offset: UInt64)
    if bytes.count <= Self.inlineLimit {
      place = try hold(bytes)
    } else {
      if let stop = state.withLock({ $0.phase.stop }) { throw stop.error }
      place = try StoreError.wrapping { () throws(SystemError) in try files.stage(bytes) }
    }
    return [
      Extent(start: offset, length: UInt64(bytes.count), offset: place.offset, source: place.source)
    ]
  }

  /// Forgets bytes that were staged and that no change will name.
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

  /// The bytes that the record of most changes takes: it is made, or follows bytes, without another allocation.
  static let roomOfChange = 256

  /// Writes the bytes that are held, for which no change has come yet.
  ///
  /// - Throws: ``StoreError/system(_:)``; then they are held as before.
  func writeHeld(_ s: inout State) throws(StoreError) {
    guard s.held != nil else { return }
    var nothing: [UInt8] = []
    try write(&nothing, isFreeing: false, &s)
  }

  /// Writes the bytes that are held to the file that a renewal is about to replace: whoever staged them knows
  /// them by their place there. Nobody may name those of a file that was given up.
  ///
  /// - Throws: the error of the write; then they are held as before.
  func writeHeldToOldFile(_ s: inout State) throws(SystemError) {
    guard var held = s.held else { return }
    if s.phase.stop == nil { try append(&held.frame, isFreeing: false, &s) }
    files.staged(held.sum, in: s.file.number)
    s.held = nil
  }

  /// Forgets the bytes that are held, if they are among those of some extents.
  func drop(_ extents: [Extent], _ s: inout State) {
    guard let held = s.held, extents.contains(where: { $0.isHeld(held, of: s.file) }) else {
      return
    }
    s.held = nil
  }
}

extension Extent {
  fileprivate func isHeld(_ held: HeldBytes, of file: JournalFile) -> Bool {
    source == file.number && offset == held.sum.offset
  }
}
