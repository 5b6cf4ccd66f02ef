import Grammar
import LLVSCore
import Platform
import Synchronization
import TreeNames
import WorkingTree

// `info` and `changes`, the files in a version's `.llvs`.

extension MetaTree {
  func info(_ number: VersionNumber, _ path: [UInt8]) throws(FSError) -> [UInt8] {
    let snapshot = try snapshots.snapshot(number)
    let record = snapshot.record
    let metadata = try FSError.translating(try store.metadata(of: record))
    var lines: [(String, String)] = [
      ("version", record.name), ("id", record.id.rawValue), ("time", Self.text(record.timestamp)),
      ("line", record.line),
    ]
    let author = Author(metadata)
    if let name = author.name { lines.append(("author", name)) }
    if let machine = author.machine { lines.append(("machine", machine)) }
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
      text += Array(label.utf8) + PrintableText.visible(Array(value.utf8), sparing: 0x5C) + [0x0A]
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
    try FSError.wrapping { () throws(StoreError) in
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
    let time = Attributes.Time(ofVersion: timestamp)
    return TimestampText.utc(seconds: time.seconds)
  }

  /// Returns the changes of a version and its first predecessor below a path.
  func changes(of number: VersionNumber, _ path: [UInt8]) throws(FSError) -> SnapshotChanges {
    let snapshot = try snapshots.snapshot(number)
    var before: Snapshot?
    if let first = snapshot.record.first { before = try snapshots.snapshot(first) }
    let empty = TreeView(map: store.map(.empty))
    return try FSError.translating(
      try SnapshotChanges(from: before?.view ?? empty, to: snapshot.view, below: path))
  }

  func changeText(_ number: VersionNumber, _ path: [UInt8]) throws(FSError) -> ChangeText {
    ChangeText(try changes(of: number, path))
  }
}
