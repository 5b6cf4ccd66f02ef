public import Foundation

extension KeyValueDatabase {
  /// A fault that ``KeyValueDatabase/verify()`` found.
  public enum DatabaseFault: Hashable, Sendable, CustomStringConvertible {
    case damaged(String)
    case textIndex(String)
    /// An entry's author is not listed, or its number is greater than in the list.
    case unlistedWrite(ScopedKey, author: UUID)
    /// A removed version, restored when the original merged over a third copy; merging repairs it.
    case removedVersion(ScopedKey, author: UUID)
    case badEntry(ScopedKey, String)

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
}
