import Grammar
package import HistoryTree
package import LLVSCore
import TreeNames

/// Finds the version that introduced each line of a file: the first version on the way back whose predecessors all
/// lack the line. Renames are followed.
/// - Concurrency: one thread at a time.
package struct Blame {
  package struct Line {
    package let version: VersionRecord
    package let path: [UInt8]
    /// The line with its end.
    package let text: [UInt8]
  }

  private struct Place: Hashable {
    var version: VersionNumber
    var key: Key
  }

  /// A line of the file: its index there, and in the current version of the walk.
  private typealias Pair = (final: Int, line: Int)
  private let store: Store
  private var table = LineTable()
  private var texts: [Digest: TextLines] = [:]
  private var changing: [Key: Set<VersionNumber>] = [:]
  /// The texts that could not be compared. A line that one of them introduced is shown at the next version with bytes.
  package private(set) var missing: MissingBytes
  package init(_ store: Store) {
    self.store = store
    missing = MissingBytes(store)
  }

  /// Returns the lines of a version's file, in order.
  /// - Throws: ``ControlError`` notFound without such a file, grammar if it is no text or longer than 8 MiB.
  /// - Complexity: O(versions that changed the file) comparisons of two texts.
  package mutating func lines(of path: [UInt8], in record: VersionRecord) throws -> [Line] {
    let shown = PrintableText.text(path)
    guard case .value(let entry)? = try TreeView(map: store.map(of: record)).find(path: path) else {
      throw ControlError(.notFound, "\(record.name) has no file \(shown)")
    }
    guard try store.canRead(entry.stored) else {
      try missing.add(path, of: record)
      throw missing.error()
    }
    guard entry.kind == .regular, let text = try text(of: entry) else {
      throw ControlError(
        .grammar, "\(shown) is not a text of up to 8 MiB, so it has no lines to show")
    }
    var found: [Line?] = Array(repeating: nil, count: text.count)
    var open = [
      Place(version: record.number, key: entry.key): (0..<text.count).map { Pair($0, $0) }
    ]
    // Predecessors have smaller numbers, so a version comes after all its descendants.
    while let place = open.keys.max(by: { $0.version < $1.version }) {
      guard let lines = open.removeValue(forKey: place), !lines.isEmpty else { continue }
      let left = try passOn(lines, of: place, &open)
      guard !left.isEmpty, let maker = try store.version(place.version) else { continue }
      let own = try TreeView(map: store.map(of: maker)).path(of: place.key)
      for pair in left {
        found[pair.final] = Line(version: maker, path: own, text: Array(text[pair.final]))
      }
    }
    return found.compactMap(\.self)
  }

  private mutating func passOn(
    _ lines: [Pair], of place: Place, _ open: inout [Place: [Pair]]
  ) throws -> [Pair] {
    let node = try store.graph.node(place.version)
    guard let first = node.first else { return lines }
    if try !versions(changing: place.key).contains(place.version) {
      // It has the same bytes as its first predecessor.
      open[Place(version: first, key: place.key), default: []] += lines
      return []
    }
    guard let record = try store.version(place.version),
      let entry = try store.map(of: record).entry(at: place.key)
    else { return lines }
    var left = lines
    for number in [first, node.second].compactMap(\.self) where !left.isEmpty {
      guard let (number, before) = try readable(entry, of: record, in: number) else { continue }
      let target = Place(version: number, key: before.key)
      if before.stored.digest == entry.stored.digest {
        open[target, default: []] += left
        return []
      }
      guard before.kind == .regular, let old = try text(of: before), let new = try text(of: entry)
      else { continue }
      left = Self.pass(left, through: TextDiff.changes(from: old, to: new), to: target, &open)
    }
    return left
  }

  /// Returns what the file was in a version, or in the nearest of its first predecessors that has the bytes.
  private mutating func readable(
    _ entry: Entry, of record: VersionRecord, in number: VersionNumber
  ) throws -> (VersionNumber, Entry)? {
    var (entry, record, next) = (entry, record, Optional(number))
    while let number = next, let parent = try store.version(number) {
      guard
        let before = try VersionDifferences.former(
          entry, in: store.map(of: parent), of: store.map(of: record))
      else { return nil }
      if try store.canRead(before.stored) { return (number, before) }
      if try before.key != entry.key || versions(changing: before.key).contains(number) {
        try missing.add(TreeView(map: store.map(of: parent)).path(of: before.key), of: parent)
      }
      (entry, record, next) = (before, parent, parent.first)
    }
    return nil
  }

  /// Passes the unchanged lines to a predecessor, and returns the others.
  private static func pass(
    _ lines: [Pair], through changes: [SequenceChange], to target: Place,
    _ open: inout [Place: [Pair]]
  ) -> [Pair] {
    var left: [Pair] = []
    var passed: [Pair] = []
    let lines = lines.sorted { $0.line < $1.line }
    for (pair, line) in zip(lines, TextDiff.oldLines(of: lines.map(\.line), changes)) {
      if let line { passed.append(Pair(pair.final, line)) } else { left.append(pair) }
    }
    if !passed.isEmpty { open[target, default: []] += passed }
    return left
  }

  private mutating func versions(changing key: Key) throws -> Set<VersionNumber> {
    if let known = changing[key] { return known }
    let found = Set(try store.versions(changing: key).map(\.number))
    changing[key] = found
    return found
  }

  private mutating func text(of entry: Entry) throws -> TextLines? {
    if let known = texts[entry.stored.digest] { return known }
    guard entry.stored.length <= UInt64(TextMerge.maximumLength) else { return nil }
    let bytes = try store.contents.bytes(entry.stored)
    guard TextMerge.isText(bytes) else { return nil }
    let lines = table.lines(bytes)
    if texts.count >= 8 { texts = [:] }
    texts[entry.stored.digest] = lines
    return lines
  }
}
