import LLVSCore

/// Decodes the records of a journal file in batches, while another thread applies the batch before.
final class JournalBatches {
  /// Items with their offsets; ``JournalReader/Item/end`` or ``JournalReader/Item/damaged`` is the last one of a
  /// file.
  struct Batch {
    var items: [(at: UInt64, item: JournalReader.Item)] = []
    var isLast = false
  }

  private static let count = 2048
  private var reader: JournalReader
  init(_ reader: JournalReader) { self.reader = reader }

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
