import LLVSCore
import Platform

extension DataFiles {
  /// Returns the checksums of ascending ranges of a file, and the parts without one; searches unknown ones in the
  /// file.
  func runs(
    of source: UInt32, in ranges: [Range<UInt64>]
  ) -> (sums: [BytesSum], missing: [Range<UInt64>]) {
    let known = knownSums(of: source, in: ranges)
    guard !known.missing.isEmpty, let file = file(source) else { return known }
    let found = InlineBytes(of: file).sums(in: known.missing)
    guard !found.isEmpty else { return known }
    note(found, in: source)
    return knownSums(of: source, in: ranges)
  }

  func sumRecords(
    of bytes: LiveBytes
  ) -> (records: [JournalRecord], missing: [UInt32: [Range<UInt64>]]) {
    var records: [JournalRecord] = []
    var missing: [UInt32: [Range<UInt64>]] = [:]
    for (source, ranges) in bytes.merged.sorted(by: { $0.key < $1.key }) {
      let found = runs(of: source, in: ranges)
      records += JournalRecord.sums(of: source, all: found.sums)
      if !found.missing.isEmpty { missing[source] = found.missing }
    }
    return (records, missing)
  }
}

/// The bytes of pending files in a journal file that takes no more records.
private struct InlineBytes {
  private let file: File
  /// The seed of the file's checksums; nil for a staging file, which has no records.
  private let seed: UInt64?

  init(of file: File) {
    self.file = file
    guard let bytes = try? file.read(JournalFileHeader.size, at: 0) else {
      seed = nil
      return
    }
    switch JournalFileHeader.look(in: bytes) {
    case .whole(let header), .mended(let header): seed = header.seed
    case .future, .none: seed = nil
    }
  }

  /// Returns the checksums of the runs in which ranges begin. Runs in a journal file do not touch.
  func sums(in ranges: [Range<UInt64>]) -> [BytesSum] {
    guard let seed else { return [] }
    return ranges.compactMap { sum(of: $0.lowerBound, seed) }
  }

  /// Searches backwards for the frame that holds a byte.
  private func sum(of byte: UInt64, _ seed: UInt64) -> BytesSum? {
    let most = UInt64(Journal.inlineLimit)
    let first = UInt64(JournalFrame.bytesHeaderSize)
    let start = byte - min(byte, most + first)
    guard byte >= first, let block = try? file.read(Int(byte - start + most), at: start) else {
      return nil
    }
    return block.withUnsafeBytes { raw in
      for at in stride(from: Int(byte - first - start), through: 0, by: -1) {
        guard raw.count >= at + JournalFrame.bytesHeaderSize,
          raw[at + JournalFrame.headerSize] == JournalFrame.bytesTag,
          case .record(let record) = JournalFrame.look(in: raw, at: at, seed: seed),
          start + UInt64(record.upperBound) > byte
        else { continue }
        let bytes = record.dropFirst(JournalFrame.bytesHeaderSize - JournalFrame.headerSize)
        guard !bytes.isEmpty else { continue }
        return BytesSum(
          offset: start + UInt64(bytes.lowerBound), length: UInt32(bytes.count),
          sum: raw.bigEndian(UInt64.self, at: record.lowerBound + 1))
      }
      return nil
    }
  }
}
