package import HistoryTree
package import LLVSCore
package import Platform
import TreeNames

package struct FoundLine {
  package let version: VersionRecord
  package let path: [UInt8]
  /// The number of the line, counted from 1; nil for a file that is no text.
  package let number: Int?
  /// The line without its end; empty for a file that is no text.
  package let text: [UInt8]
}

/// Searches files of versions for a pattern; each content is searched once under each path.
/// - Concurrency: one thread at a time.
package struct HistorySearch {
  /// The bytes of a file that are searched at a time; a longer line is searched in pieces.
  private static let window = 1 << 20

  private struct Place: Hashable {
    var path: [UInt8]
    var digest: Digest
  }

  private let store: Store
  private let pattern: RegularExpression
  private let paths: [[UInt8]]
  /// True if one line of a file is enough.
  private let findsFilesOnly: Bool
  private var seen: Set<Place> = []
  /// The files that were not searched.
  package private(set) var missing: MissingBytes

  package init(
    _ store: Store, _ pattern: RegularExpression, paths: [[UInt8]], findsFilesOnly: Bool
  ) throws(StoreError) {
    missing = MissingBytes(store)
    self.store = store
    self.pattern = pattern
    self.paths = paths
    self.findsFilesOnly = findsFilesOnly
  }

  /// - Complexity: O(bytes of the files).
  package mutating func search(
    all record: VersionRecord, _ emit: (FoundLine) throws -> Void
  ) throws { try search(from: store.map(.empty), record, isMerge: false, emit) }

  /// - Complexity: O(bytes of those files).
  package mutating func search(
    changesOf record: VersionRecord, _ emit: (FoundLine) throws -> Void
  ) throws {
    let parent = try store.version(record.first)
    try search(
      from: store.map(of: parent), record, isMerge: record.second != nil, emit)
  }

  private mutating func search(
    from old: ValueMap, _ record: VersionRecord, isMerge: Bool,
    _ emit: (FoundLine) throws -> Void
  ) throws {
    var diff = try TreeDiff(
      from: TreeView(map: old), to: TreeView(map: store.map(of: record)), paths: paths)
    while let (path, change) = try diff.next() {
      guard let entry = change.new, !change.isDirectory, entry.kind == .regular,
        change.old?.stored.digest != entry.stored.digest
      else { continue }
      // Text that a merge took from its other side is found in the versions of that side.
      if isMerge, entry.storedVersion != record.number { continue }
      guard seen.insert(Place(path: path, digest: entry.stored.digest)).inserted else { continue }
      guard try store.canRead(entry.stored) else {
        try missing.add(path, of: record)
        continue
      }
      try search(entry.stored) { number, text in
        try emit(FoundLine(version: record, path: path, number: number, text: text))
      }
    }
  }

  private func search(_ stored: StoredContent, _ emit: (Int?, [UInt8]) throws -> Void) throws {
    var offset: UInt64 = 0
    var lines = 0
    var bytes: [UInt8] = []
    while offset < stored.length || !bytes.isEmpty {
      let part = try store.contents.bytes(stored, from: offset, count: Self.window)
      let isText = offset > 0 || !part.prefix(8192).contains(0)
      offset += UInt64(part.count)
      bytes += part
      let isEnd = offset >= stored.length
      // The last line of a window may continue in the next one.
      var end = isEnd ? bytes.count : (bytes.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0)
      if end == 0 { end = bytes.count < 2 * Self.window ? 0 : bytes.count }
      let whole = end == bytes.count ? bytes : Array(bytes[..<end])
      bytes.removeFirst(end)
      guard isText else {
        if try hasMatch(whole, stored, from: offset) { try emit(nil, []) }
        return
      }
      if try search(lines: whole, after: &lines, emit) { return }
      if isEnd, bytes.isEmpty { return }
    }
  }

  /// True if a file that is no text has a match, in its first window or later.
  private func hasMatch(
    _ first: [UInt8], _ stored: StoredContent, from start: UInt64
  ) throws -> Bool {
    if pattern.firstMatch(in: first) != nil { return true }
    var offset = start
    var rest = first.suffix(4096)
    while offset < stored.length {
      let part = try store.contents.bytes(stored, from: offset, count: Self.window)
      offset += UInt64(part.count)
      let bytes = rest + part
      if pattern.firstMatch(in: Array(bytes)) != nil { return true }
      rest = bytes.suffix(4096)
    }
    return false
  }

  /// Searches whole lines; true if nothing more needs to be searched.
  private func search(
    lines bytes: [UInt8], after lines: inout Int, _ emit: (Int?, [UInt8]) throws -> Void
  ) throws -> Bool {
    var counted = 0
    var start = 0
    while start < bytes.count, let match = pattern.firstMatch(in: bytes, from: start) {
      // An empty match after the last newline is on no line.
      guard match.lowerBound < bytes.count else { break }
      let begin = bytes[..<match.lowerBound].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
      let end = bytes[match.lowerBound...].firstIndex(of: 0x0A) ?? bytes.count
      lines += bytes[counted..<begin].count { $0 == 0x0A }
      counted = begin
      var text = Array(bytes[begin..<end])
      if text.last == 0x0D { text.removeLast() }
      try emit(lines + 1, text)
      if findsFilesOnly { return true }
      start = end + 1
    }
    lines += bytes[counted...].count { $0 == 0x0A }
    return false
  }
}
