package import LLVSCore

package struct SearchHit: Hashable, Sendable {
  package struct Line: Hashable, Sendable {
    /// From 1.
    package var number: Int
    package var text: String
  }

  package var path: [UInt8]
  /// The version that stored the bytes; nil for a file of the current tree.
  package var version: VersionNumber?
  package var lines: [Line] = []
}

package struct SearchResult: Sendable {
  package var hits: [SearchHit] = []
  /// The number of all files that have the words.
  package var count = 0
  /// The number of files that could not be read, and the path of one.
  package var unreadable: (count: Int, first: [UInt8])?
  /// The number of files that are searched only at the beginning.
  package var cut = 0
  /// False if the index was not brought up to the head.
  package var isCurrent = true
}
