import LLVS
import Platform
import Synchronization

// `info` and `changes` of a version's `.llvs`, both for the directory they stand in.

extension HiddenTree {
  /// Who made a version, when, of what, and how much it changed here.
  func info(_ number: VersionNumber, _ path: [UInt8]) throws(FSError) -> [UInt8] {
    let snapshot = try snapshots.snapshot(number)
    let record = snapshot.record
    let metadata = try reading { () throws(StoreError) in try store.metadata(of: record) }
    var lines: [(String, String)] = [
      ("version", record.name), ("id", record.id.rawValue), ("time", Self.text(record.timestamp)),
      ("line", record.line),
    ]
    if let author: String = metadata[.author]?.value() { lines.append(("author", author)) }
    if let message: String = metadata[.message]?.value() { lines.append(("message", message)) }
    for predecessor in record.predecessors {
      lines.append(("predecessor", try snapshots.snapshot(predecessor).record.name))
    }
    if record.flags.contains(.automatic) { lines.append(("merge", "automatic")) }
    let counts = try counts(number, path)
    lines.append(("values", String(counts.values)))
    lines.append(("bytes", String(counts.bytes)))
    lines.append(
      ("changes", "\(counts.changed) changed, \(counts.new) new, \(counts.removed) removed"))
    var text: [UInt8] = []
    for (name, value) in lines {
      let label = name + String(repeating: " ", count: max(1, 12 - name.utf8.count))
      text += Array(label.utf8) + ChangeText.visible(Array(value.utf8), sparing: 0x5C) + [0x0A]
    }
    return text
  }

  private struct Counts {
    var values = 0
    var bytes: UInt64 = 0
    var changed = 0
    var new = 0
    var removed = 0
  }

  private func counts(_ number: VersionNumber, _ path: [UInt8]) throws(FSError) -> Counts {
    var counts = Counts()
    var changes = try changes(of: number, path)
    let view = try snapshots.snapshot(number).view
    try reading { () throws(StoreError) in
      var walk = view.entries(below: path)
      while let (_, entry) = try walk.next() {
        guard !entry.isDirectory else { continue }
        counts.values += 1
        counts.bytes += entry.stored.length
      }
      while let change = try changes.next() {
        switch change.mark {
        case ChangeText.added: counts.new += 1
        case ChangeText.removed: counts.removed += 1
        default: counts.changed += 1
        }
      }
    }
    return counts
  }

  private static func text(_ timestamp: Double) -> String {
    let time = Attributes.Time(referenceTimestamp: timestamp)
    guard let utc = SystemClock.utc(time.seconds) else { return "?" }
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return "\(utc.year)-\(two(utc.month))-\(two(utc.day))T\(two(utc.hour)):\(two(utc.minute)):"
      + "\(two(utc.second))Z"
  }

  /// What a version changed below a path, compared with its first predecessor.
  func changes(of number: VersionNumber, _ path: [UInt8]) throws(FSError) -> SnapshotChanges {
    let snapshot = try snapshots.snapshot(number)
    var before: Snapshot?
    if let first = snapshot.record.first { before = try snapshots.snapshot(first) }
    let empty = TreeView(map: store.map(.empty))
    return SnapshotChanges(from: before?.view ?? empty, to: snapshot.view, below: path)
  }

  func changeText(_ number: VersionNumber, _ path: [UInt8]) throws(FSError) -> ChangeText {
    ChangeText(try changes(of: number, path))
  }
}

/// The paths below a directory at which two versions differ, in order of key, streaming.
struct SnapshotChanges {
  private let old: TreeView
  private let new: TreeView
  private let pathPrefix: [UInt8]
  private var prefixes: [[UInt8]]
  private var diff: MapDiff?

  init(from old: TreeView, to new: TreeView, below path: [UInt8]) {
    self.old = old
    self.new = new
    pathPrefix = path.isEmpty ? [] : path + [0x2F]
    // Of the root, escaped keys lie among the others.
    prefixes = path.isEmpty ? [[]] : [TreeView.escapedPrefix(pathPrefix), pathPrefix]
  }

  mutating func next() throws(StoreError) -> (mark: UInt8, path: [UInt8])? {
    while true {
      guard let change = try diff?.next() else {
        guard let prefix = prefixes.popLast() else { return nil }
        diff = try MapDiff(from: old.map, to: new.map, prefix: prefix, comparing: .content)
        continue
      }
      var path = try (change.new == nil ? old : new).path(of: change.key)
      guard path.starts(with: pathPrefix) else { continue }
      path.removeFirst(pathPrefix.count)
      if change.isDirectory { path.append(0x2F) }
      let mark =
        change.old == nil
        ? ChangeText.added : change.new == nil ? ChangeText.removed : ChangeText.changed
      return (mark, path)
    }
  }
}

/// The text of `changes`, made as it is read: going back begins anew.
///
/// - Concurrency: one reader at a time; its lock is held while maps are read, and nothing waits for it but
///   other readers of the same open file.
package final class ChangeText: Sendable {
  static let added = UInt8(ascii: "+")
  static let removed = UInt8(ascii: "-")
  static let changed = UInt8(ascii: "*")

  private struct State {
    var changes: SnapshotChanges
    /// The text that was made last, and where it begins.
    var text: [UInt8] = []
    var start: UInt64 = 0
  }

  private let begin: SnapshotChanges
  private let state: Monitor<State>

  init(_ changes: SnapshotChanges) {
    begin = changes
    state = Monitor(State(changes: changes))
  }

  private static func line(_ change: (mark: UInt8, path: [UInt8])) -> [UInt8] {
    [change.mark, 0x20] + visible(change.path) + [0x0A]
  }

  /// How long the text is; nothing of it is kept.
  func length() throws(FSError) -> UInt64 {
    var changes = begin
    var length: UInt64 = 0
    try reading { () throws(StoreError) in
      while let change = try changes.next() { length += UInt64(Self.line(change).count) }
    }
    return length
  }

  func read(
    at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) -> Int {
    guard offset < UInt64(Int64.max) else { return 0 }
    let end = offset + UInt64(buffer.count)
    return try state.withLock { state throws(FSError) in
      if offset < state.start { state = State(changes: begin) }
      do throws(StoreError) {
        while state.start + UInt64(state.text.count) < end {
          // What was read before is not kept.
          let passed = min(UInt64(state.text.count), offset - min(offset, state.start))
          if passed > 1 << 16 {
            state.text.removeFirst(Int(passed))
            state.start += passed
          }
          guard let change = try state.changes.next() else { break }
          state.text += Self.line(change)
        }
      } catch {
        throw FSError.store(error)
      }
      guard offset >= state.start else { return 0 }
      return HiddenFile.copy(state.text, from: offset - state.start, into: buffer)
    }
  }

  /// Bytes that would break a line, and the backslash, as `\ooo`.
  package static func visible(_ bytes: [UInt8], sparing spared: UInt8? = nil) -> [UInt8] {
    guard bytes.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x5C && $0 != spared }) else {
      return bytes
    }
    return bytes.flatMap { byte -> [UInt8] in
      guard byte < 0x20 || byte == 0x7F || byte == 0x5C, byte != spared else { return [byte] }
      return escaped(byte)
    }
  }

  private static func escaped(_ byte: UInt8) -> [UInt8] {
    [0x5C, 0x30 + (byte >> 6), 0x30 + (byte >> 3 & 7), 0x30 + (byte & 7)]
  }

  /// A text of whoever, in which nothing moves a terminal's cursor or changes its colours: control
  /// characters but newlines are `\ooo`.
  package static func harmless(_ text: String) -> String {
    func isControl(_ scalar: Unicode.Scalar) -> Bool {
      scalar.value < 0x20 && scalar != "\n" || (0x7F...0x9F).contains(scalar.value)
    }
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var out: [UInt8] = []
    for scalar in text.unicodeScalars {
      let bytes = Array(String(scalar).utf8)
      out += isControl(scalar) ? bytes.flatMap(escaped) : bytes
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// The same as a text, in which bytes that are no UTF-8 are written so too: no two names look alike.
  package static func text(_ bytes: [UInt8]) -> String {
    let shown = visible(bytes)
    if let text = String(validating: shown, as: UTF8.self) { return text }
    var out: [UInt8] = []
    var rest = shown[...]
    while let byte = rest.first {
      // A character has four bytes at most.
      let count =
        byte < 0x80
        ? 1
        : (2...4).first { count in
          count <= rest.count
            && String(validating: rest.prefix(count), as: UTF8.self)?.unicodeScalars.count == 1
        }
      out += count.map { Array(rest.prefix($0)) } ?? escaped(byte)
      rest = rest.dropFirst(count ?? 1)
    }
    return String(decoding: out, as: UTF8.self)
  }
}
