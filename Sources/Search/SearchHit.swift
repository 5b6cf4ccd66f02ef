package import LLVSCore

/// A file that has the words.
package struct SearchHit: Hashable, Sendable {
  /// A line of the file.
  package struct Line: Hashable, Sendable {
    /// The number, from 1.
    package var number: Int
    /// The line without its end.
    package var text: String
  }

  /// The path in the tree.
  package var path: [UInt8]
  /// The version that stored the file's bytes; nil for a file of the tree as it is now.
  package var version: VersionNumber?
  /// The best lines, in their order.
  package var lines: [Line] = []
}

/// The files that a search found.
package struct SearchResult: Sendable {
  /// The best files, in the order that was asked for.
  package var hits: [SearchHit] = []
  /// The number of all files that have the words.
  package var count = 0
  /// The number of files that could not be read, so that their texts were not searched, and the
  /// path of one.
  package var unreadable: (count: Int, first: [UInt8])?
  /// The number of files of which only the beginning is searched.
  package var cut = 0
  /// False if the index was not brought up to the head first.
  package var isCurrent = true
}
