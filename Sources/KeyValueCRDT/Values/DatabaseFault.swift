public import Foundation

/// Something wrong in a database that ``KeyValueDatabase/verify()`` found.
public enum DatabaseFault: Hashable, Sendable, CustomStringConvertible {
  /// SQLite's words about a damaged file.
  case damaged(String)
  /// SQLite's words about a text index that does not fit the texts.
  case textIndex(String)
  /// An entry is of an author that is not listed, or newer than the list says.
  case unlistedWrite(ScopedKey, author: UUID)
  /// A removed version, as the original leaves it when it merges over a third copy; merging mends it.
  case removedVersion(ScopedKey, author: UUID)
  case badEntry(ScopedKey, String)

  /// The fault, in one sentence.
  public var description: String {
    switch self {
    case .damaged(let words): "The file is damaged: \(words)."
    case .textIndex(let words): "The text index does not fit the texts: \(words)."
    case .unlistedWrite(let key, let author):
      "\(key) has a version of \(author), newer than the list of authors says."
    case .removedVersion(let key, let author):
      "\(key) has a version of \(author) that was removed by another write."
    case .badEntry(let key, let words): "\(key): \(words)."
    }
  }
}
