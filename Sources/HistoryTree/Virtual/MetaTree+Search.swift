import Synchronization
import TreeNames
import WorkingTree

// `search/WORDS/0001-NAME`: links to the files that have the words, the best first. Only for the mounting user,
// because the index does not know who may read a file.

final class SearchDirectories: Sendable {
  struct Query: Equatable {
    var words: [UInt8]
    var directory: [UInt8]
  }

  struct Answer {
    var paths: [[UInt8]]
    var stamp: ShownStamp
  }

  private static let limit = 64
  // A leaf lock.
  let answers = Mutex(RecentlyUsed<Query, Answer>(limit: limit))
}

extension MetaTree {
  func searchChild(
    of directory: [UInt8], named words: [UInt8]
  ) throws(FSError) -> Found? {
    guard try !foundPaths(words, below: directory).isEmpty else { return nil }
    return Found(.found(words: words, directory: directory))
  }

  func foundChild(
    _ words: [UInt8], below directory: [UInt8], named name: [UInt8]
  ) throws(FSError) -> Found? {
    guard let number = Int(String(decoding: name.prefix { $0 != 0x2D }, as: UTF8.self)) else {
      return nil
    }
    let paths = try foundPaths(words, below: directory)
    guard number >= 1, number <= paths.count else { return nil }
    let path = paths[number - 1]
    guard Self.linkName(number, path) == name else { return nil }
    let below = path.dropFirst(directory.isEmpty ? 0 : directory.count + 1)
    return Found(.link(target: Array("../../../".utf8) + below))
  }

  func foundNames(_ words: [UInt8], below directory: [UInt8]) throws(FSError) -> [MetaListing.Name]
  {
    try foundPaths(words, below: directory).enumerated().map { index, path in
      MetaListing.Name(link: Self.linkName(index + 1, path))
    }
  }

  private func foundPaths(
    _ words: [UInt8], below directory: [UInt8]
  ) throws(FSError) -> [[UInt8]] {
    let query = SearchDirectories.Query(words: words, directory: directory)
    // Read first, because changes during the search make the answer old.
    let stamp = live.shownStamp
    if let known = searches.answers.withLock({ $0.use(query) }), known.stamp == stamp {
      return known.paths
    }
    let paths = try services.foundPaths(words, below: directory)
    searches.answers.withLock { $0.add(.init(paths: paths, stamp: stamp), for: query) }
    return paths
  }

  /// The name of a link: its rank, and the fitting part of the file's name.
  private static func linkName(_ number: Int, _ path: [UInt8]) -> [UInt8] {
    let digits = String(number)
    let place = String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "-"
    let name = path[(path.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0)...]
    return Array((Array(place.utf8) + name).prefix(255))
  }
}
