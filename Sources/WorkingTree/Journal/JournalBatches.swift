import LLVSCore

/// The records of a journal file, decoded some thousand at a time: by one thread, while another applies those of
/// before.
///
/// - Concurrency: one thread at a time.
final class JournalBatches {
  /// Items with the offsets at which they stand; ``JournalReader/Item/end`` or ``JournalReader/Item/damaged`` is
  /// the last one of a file.
  struct Batch {
    var items: [(at: UInt64, item: JournalReader.Item)] = []
    /// True if nothing follows.
    var isLast = false
  }

  private static let count = 2048

  private var reader: JournalReader

  init(_ reader: JournalReader) { self.reader = reader }

  /// Decodes what comes next.
  ///
  /// - Throws: as ``JournalReader/next()``.
  func next() throws(StoreError) -> Batch {
    var batch = Batch()
    batch.items.reserveCapacity(Self.count)
    while batch.items.count < Self.count, !batch.isLast {
      let at = reader.offset
      let item = try reader.next()
      switch item {
      case .record, .bytes: batch.items.append((at, item))
      case .end, .damaged:
        batch.items.append((reader.offset, item))
        batch.isLast = true
      }
    }
    return batch
  }
}
