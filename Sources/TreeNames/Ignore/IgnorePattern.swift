/// One line of an ignore file, as in gitignore(5).
struct IgnorePattern: Hashable, Sendable {
  enum Part: Hashable, Sendable {
    case component(Glob)
    /// `**`: any number of components.
    case anyDepth
  }

  enum Fault: Error { case malformed }

  /// Begins with `!`: matching files go into versions again.
  let isNegated: Bool
  /// Ends with `/`: it matches directories only.
  let isDirectoryOnly: Bool
  /// Has no `/` inside: it matches a name in any directory, and has one part.
  let isForNames: Bool
  let parts: [Part]

  init?(line: ArraySlice<UInt8>) throws(Fault) {
    var text = IgnorePattern.trimmed(line)
    guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
    isNegated = first == UInt8(ascii: "!")
    if isNegated { text.removeFirst() }
    isDirectoryOnly = text.last == UInt8(ascii: "/")
    if isDirectoryOnly { text.removeLast() }
    isForNames = !text.contains(UInt8(ascii: "/"))
    if text.first == UInt8(ascii: "/") { text.removeFirst() }
    guard !text.isEmpty else { throw .malformed }
    var parts: [Part] = []
    for part in text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      if !isForNames, part.elementsEqual("**".utf8) {
        if parts.last != .anyDepth { parts.append(.anyDepth) }
        continue
      }
      guard !part.isEmpty, let glob = Glob(part) else { throw .malformed }
      parts.append(.component(glob))
    }
    self.parts = parts
  }

  /// Returns the line without its end and its trailing spaces, except a space after a backslash.
  private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = line
    if text.last == UInt8(ascii: "\r") { text.removeLast() }
    while text.last == UInt8(ascii: " ") {
      let backslashes = text.dropLast().reversed().prefix { $0 == UInt8(ascii: "\\") }.count
      guard backslashes % 2 == 0 else { break }
      text.removeLast()
    }
    return text
  }

  var lastBytes: ByteSet {
    guard case .component(let glob) = parts.last else { return .all }
    return glob.lastBytes
  }

  var firstBytesOfName: ByteSet {
    guard case .component(let glob) = parts.last else { return .all }
    return glob.firstBytes
  }

  /// A pattern that ``isForNames`` is compared with only the last component.
  func matches(path: UnsafeRawBufferPointer, nameStart: Int) -> Bool {
    if isForNames {
      guard case .component(let glob) = parts.first else { return false }
      return glob.matches(UnsafeRawBufferPointer(rebasing: path[nameStart...]))
    }
    return matchesParts(path)
  }

  private func matchesParts(_ path: UnsafeRawBufferPointer) -> Bool {
    var part = 0
    var start = 0
    var lastDepth = -1
    var resume = 0
    while start <= path.count {
      let end = IgnorePattern.end(of: start, in: path)
      if part < parts.count {
        switch parts[part] {
        case .anyDepth:
          // `**` at the end matches everything inside a directory, not the directory itself.
          if part + 1 == parts.count { return part == 0 || start <= path.count }
          lastDepth = part
          resume = start
          part += 1
          continue
        case .component(let glob):
          if glob.matches(UnsafeRawBufferPointer(rebasing: path[start..<end])) {
            part += 1
            start = end + 1
            continue
          }
        }
      }
      guard lastDepth >= 0 else { return false }
      part = lastDepth + 1
      resume = IgnorePattern.end(of: resume, in: path) + 1
      start = resume
    }
    return part == parts.count
  }

  private static func end(of start: Int, in path: UnsafeRawBufferPointer) -> Int {
    var end = start
    while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
    return end
  }
}
