public import Foundation

/// Something wrong in a database that ``KeyValueDatabase/verify()`` found.
public enum DatabaseFault: Hashable, Sendable, CustomStringConvertible {
  /// SQLite finds the file damaged; its words.
  case damaged(String)
  /// The text index does not fit the texts, so searches miss keys or fail; SQLite's words.
  case textIndex(String)
  /// An entry is of an author that is not listed, or newer than the list says.
  case unlistedWrite(ScopedKey, author: UUID)
  /// A version is there that another write has removed, as the file itself notes. The original library
  /// leaves such versions when it merges over a third copy; merging a copy that is right removes them.
  case removedVersion(ScopedKey, author: UUID)
  /// An entry holds something that it must not; what it is.
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
