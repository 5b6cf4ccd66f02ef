import Grammar
import HistoryTree
import LLVSCore
import Search

extension ControlService {
  /// The most files in a directory below `.llvs/search`.
  private static let shownLimit = 1000

  /// Returns the paths of the files below a directory that have the words, the best first; none without words.
  func foundPaths(_ words: [UInt8], below directory: [UInt8]) throws -> [[UInt8]] {
    guard let text = String(validating: words, as: UTF8.self), let query = SearchQuery(text) else {
      return []
    }
    let limit = Int(settings.searchLimit)
    var request = SearchIndex.Request(query)
    request.directory = directory
    request.limit = Self.shownLimit
    request.lineCount = 0
    request.pending = try SearchPending(of: tree, textLimit: limit)
    return try SearchIndex(of: store, textLimit: limit).search(request).hits.map(\.path)
  }
}
