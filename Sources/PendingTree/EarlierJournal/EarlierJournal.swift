import LLVSCore
import Platform

/// Reads journals of formats 2 to 5, which programs before the recorded tree wrote (docs/formats.md, "The
/// journal of earlier programs").
///
/// Only a checkpoint can be taken over, which a mount that ended by itself leaves. The changes behind one are brought
/// into versions by the program that wrote them.
enum EarlierJournal {
  private static let magic: [UInt8] = Array("llvsjrn1".utf8)
  /// A frame before its record: u32 length of the record, u32 length of data behind it, u64 checksum of these eight
  /// bytes and the record.
  private static let frameSize = 16
  private static let recordLimit: UInt32 = 1 << 30
  /// Format 1 has no checksums of the bytes in data files.
  private static let formats: ClosedRange<UInt32> = 2...5

  /// True for the first bytes of such a journal.
  static func isBegun(by bytes: [UInt8]) -> Bool {
    bytes.dropFirst(frameSize).starts(with: magic)
  }

  /// Reads the checkpoint of a journal file.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` for a file with changes behind its checkpoint, ``StoreError/corrupt(_:)`` for
  ///   a damaged one, ``StoreError/system(_:)``.
  static func checkpoint(of file: File) throws(StoreError) -> EarlierCheckpoint {
    var checkpoint = EarlierCheckpoint()
    let size = try StoreError.wrapping { () throws(SystemError) in try file.status().size }
    var offset: UInt64 = 0
    while let frame = try record(in: file, at: offset, size: size) {
      do throws(EarlierRefusal) {
        // Bytes of a file stand behind a write alone.
        guard !frame.hasData else { throw .operation }
        try take(frame.record, isFirst: offset == 0, into: &checkpoint)
      } catch .operation {
        throw refusal(file, "holds changes that are in no version")
      } catch {
        throw damage(file, at: offset)
      }
      offset = frame.end
    }
    guard offset > 0, try isZero(file, from: offset, size: size) else {
      throw damage(file, at: offset)
    }
    return checkpoint
  }

  /// The error of a journal that the program which wrote it has to end.
  static func refusal(_ file: File, _ reason: String) -> StoreError {
    .invalid(
      "the journal \(file.path) was written by an earlier version of llvs and \(reason): mount and "
        + "unmount the store once with that version, then mount it with this one")
  }

  private static func damage(_ file: File, at offset: UInt64) -> StoreError {
    .corrupt(
      "the journal \(file.path), written by an earlier version of llvs, is damaged at byte \(offset): mount the "
        + "store with that version to save what can be read")
  }

  private static func take(
    _ record: [UInt8], isFirst: Bool, into checkpoint: inout EarlierCheckpoint
  ) throws(EarlierRefusal) {
    let format = record.withUnsafeBytes { bytes in
      Result { () throws(EarlierRefusal) -> UInt32? in
        if isFirst { return try checkpoint.takeHeader(bytes) }
        try checkpoint.take(bytes)
        return nil
      }
    }
    if let format = try format.get(), !formats.contains(format) { throw .operation }
  }

  private struct Frame {
    var record: [UInt8]
    var hasData: Bool
    var end: UInt64
  }

  /// Returns the record at an offset; nil if no whole one stands there.
  private static func record(
    in file: File, at offset: UInt64, size: UInt64
  ) throws(StoreError) -> Frame? {
    try StoreError.wrapping { () throws(SystemError) in
      let head = try file.read(frameSize, at: offset)
      guard head.count == frameSize else { return nil }
      let (length, data, sum) = head.withUnsafeBytes { bytes in
        (
          bytes.bigEndian(UInt32.self, at: 0), bytes.bigEndian(UInt32.self, at: 4),
          bytes.bigEndian(UInt64.self, at: 8)
        )
      }
      let end = offset + UInt64(frameSize) + UInt64(length) + UInt64(data)
      guard length > 0, length <= recordLimit, end <= size else { return nil }
      let record = try file.read(Int(length), at: offset + UInt64(frameSize))
      guard record.count == Int(length), Checksum.of(head[..<8] + record) == sum else {
        return nil
      }
      return Frame(record: record, hasData: data > 0, end: end)
    }
  }

  /// True if nothing but zeros stands behind an offset, as were written ahead of records.
  private static func isZero(
    _ file: File, from start: UInt64, size: UInt64
  ) throws(StoreError) -> Bool {
    try StoreError.wrapping { () throws(SystemError) in
      var offset = start
      while offset < size {
        let block = try file.read(1 << 20, at: offset)
        guard !block.isEmpty, block.allSatisfy({ $0 == 0 }) else { return false }
        offset += UInt64(block.count)
      }
      return true
    }
  }
}
