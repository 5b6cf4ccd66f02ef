import LLVSCore

/// Where the edits of a cut have their numbers and the places of their bytes from.
enum CutSource {
  /// The transaction that makes versions of them: bytes are stored, numbers allotted.
  case transaction(WriteTransaction)
  /// The version that a committed cut made of them; nil where it made none.
  case version(ValueMap?)
  /// The map that was put under the tree when a cut was committed.
  case installed(ValueMap)

  /// A number for a value that parts from the one whose number it had.
  func number(for entry: Entry) throws(StoreError) -> UInt64 {
    switch self {
    case .transaction(let transaction): return try transaction.allotInodes()
    case .version(let map):
      return try map?.entry(at: entry.key, directory: entry.isDirectory)?.inode ?? 0
    case .installed(let map):
      return try map.entry(at: entry.key, directory: entry.isDirectory)?.inode ?? 0
    }
  }

  /// The first of so many revision numbers in a row; of what was committed they say nothing, and begin with 0.
  func revisions(_ count: UInt64) throws(StoreError) -> UInt64 {
    guard case .transaction(let transaction) = self else { return 0 }
    return try transaction.allotRevisions(count)
  }

  /// Whether bytes can still be read where they stand; of what was committed that was found out then.
  func isSound(
    _ stored: StoredContent, besides other: StoredContent
  ) throws(StoreError) -> Bool {
    guard case .transaction(let transaction) = self else { return true }
    return try transaction.store.contents.isSound(stored, besides: other)
  }
}
