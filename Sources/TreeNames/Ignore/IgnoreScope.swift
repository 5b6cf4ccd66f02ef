/// The patterns that count in one directory: the store's own, and those of files `.llvsignore` in it
/// and in the directories above it. The nearest file is asked first, the store's own patterns last.
///
/// - Concurrency: immutable; any thread.
package struct IgnoreScope: Sendable {
  /// The name of a file whose lines are patterns for its directory and what is below it. It is a file
  /// like all others: versioned and exchanged.
  package static let fileName = Array(".llvsignore".utf8)
  /// The longest such file that is read, in bytes.
  package static let fileLimit = 1 << 20

  private struct Part {
    /// The length of the directory's path with the slash behind it; 0 for the root.
    var start: Int
    var patterns: IgnorePatterns
  }

  /// A file's patterns, from the nearest to the farthest.
  private var parts: [Part] = []
  private let own: IgnorePatterns

  /// Begins at the root, with the store's own patterns.
  package init(_ own: IgnorePatterns) { self.own = own }

  /// Adds the patterns of the file in a directory of this scope, or below one.
  package mutating func add(_ patterns: IgnorePatterns, of directory: [UInt8]) {
    guard !patterns.isEmpty else { return }
    let start = directory.isEmpty ? 0 : directory.count + 1
    parts.insert(Part(start: start, patterns: patterns), at: 0)
  }

  /// The pattern that keeps a path out of versions.
  package struct Reason: Hashable, Sendable {
    /// The path that the pattern matches: the asked one or a directory above it.
    package let path: [UInt8]
    /// The directory of the file `.llvsignore`; nil for the store's own patterns.
    package let directory: [UInt8]?
    /// The number of the pattern's line, counted from 1.
    package let line: Int
  }

  /// True if a path, or a directory above it, is ignored.
  ///
  /// - Complexity: O(components) as a rule, for each file.
  package func ignores(path: [UInt8], isDirectory: Bool = false) -> Bool {
    parts.isEmpty
      ? own.ignores(path: path, isDirectory: isDirectory)
      : reason(path: path, isDirectory: isDirectory) != nil
  }

  /// Returns the pattern that keeps a path out of versions; nil if none does.
  package func reason(path: [UInt8], isDirectory: Bool = false) -> Reason? {
    for end in path.indices where path[end] == UInt8(ascii: "/") {
      if let reason = verdict(on: path[..<end], isDirectory: true) { return reason }
    }
    return verdict(on: path[...], isDirectory: isDirectory)
  }

  /// Returns the pattern that ignores a path itself; everything above it is not ignored.
  private func verdict(on path: ArraySlice<UInt8>, isDirectory: Bool) -> Reason? {
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    for part in parts where part.start <= name {
      guard let verdict = part.patterns.verdict(on: path[part.start...], isDirectory: isDirectory)
      else { continue }
      guard verdict.ignores else { return nil }
      return Reason(
        path: Array(path), directory: Array(path.prefix(max(0, part.start - 1))),
        line: verdict.line)
    }
    guard let verdict = own.verdict(on: path, isDirectory: isDirectory), verdict.ignores else {
      return nil
    }
    return Reason(path: Array(path), directory: nil, line: verdict.line)
  }
}
