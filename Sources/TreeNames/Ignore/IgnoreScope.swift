/// The patterns of one directory: those of `.llvsignore` in it and above it, nearest first, then the store's own.
/// - Concurrency: immutable; any thread.
package struct IgnoreScope: Sendable {
  /// A file of patterns for its directory and below, versioned like all others.
  package static let fileName = Array(".llvsignore".utf8)
  package static let fileLimit = 1 << 20

  private struct Part {
    /// The length of the directory's path with a slash after it; 0 for the root.
    var start: Int
    var patterns: IgnorePatterns
  }

  private var parts: [Part] = []
  private let own: IgnorePatterns

  package init(_ own: IgnorePatterns) { self.own = own }

  package mutating func add(_ patterns: IgnorePatterns, of directory: [UInt8]) {
    guard !patterns.isEmpty else { return }
    let start = directory.isEmpty ? 0 : directory.count + 1
    parts.insert(Part(start: start, patterns: patterns), at: 0)
  }

  /// The pattern that keeps a path out of versions.
  package struct Reason: Hashable, Sendable {
    /// The path itself or a directory above it.
    package let path: [UInt8]
    /// The directory of the file `.llvsignore`; nil for the store's own patterns.
    package let directory: [UInt8]?
    /// Counted from 1.
    package let line: Int
  }

  /// True if a pattern matches a path or a directory above it. A zero byte, which no name of a version has, marks
  /// scratch whose name the head has.
  /// - Complexity: usually O(components) for each file.
  package func ignores(path: [UInt8], isDirectory: Bool = false) -> Bool {
    if path.contains(0) { return true }
    return parts.isEmpty
      ? own.ignores(path: path, isDirectory: isDirectory)
      : reason(path: path, isDirectory: isDirectory) != nil
  }

  package func reason(path: [UInt8], isDirectory: Bool = false) -> Reason? {
    for end in path.indices where path[end] == UInt8(ascii: "/") {
      if let reason = verdict(on: path[..<end], isDirectory: true) { return reason }
    }
    return verdict(on: path[...], isDirectory: isDirectory)
  }

  /// Returns the pattern that ignores a path itself.
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
