package import Grammar
import HistoryTree
package import LLVSCore
import TreeNames
import WorkingTree

/// The author, machine and time of one side of a conflict.
package struct ConflictSide: Replying, Sendable {
  package let version: String
  package let author: Author
  package let time: Int64
  package let isRemoval: Bool
  /// For example `from phone.kvcrdt`.
  private let message: String?

  init(_ node: HistoryNode, isRemoval: Bool, in store: Store) throws(StoreError) {
    guard let record = try store.version(node.number) else { throw .missingVersion(node.id) }
    try self.init(record, isRemoval: isRemoval, in: store)
  }

  init(_ record: VersionRecord, isRemoval: Bool = false, in store: Store) throws(StoreError) {
    version = record.name
    let metadata = try store.metadata(of: record)
    author = Author(metadata)
    message = metadata[.message]?.value()
    let time = Attributes.Time(ofVersion: record.timestamp)
    // Times may be some centuries beyond the range of nanoseconds in 64 bits.
    let seconds = min(max(time.seconds, -9_000_000_000), 9_000_000_000)
    self.time = seconds * 1_000_000_000 + Int64(time.nanoseconds)
    self.isRemoval = isRemoval
  }

  /// For example `laptop, Ann, 10:12`, without unknown parts; with the message if both names are unknown.
  package var text: String {
    let known = [author.machine, author.name].compactMap(\.self).filter { !$0.isEmpty }
    let names = (known.isEmpty ? [message].compactMap(\.self) : known)
      .map { PrintableText.text(Array($0.utf8.prefix(200))) }
    return (names + [TimestampText.minute(time)]).joined(separator: ", ")
      + (isRemoval ? " (removed it)" : "")
  }

  package var reply: ReplyValue {
    [
      "version": version, "author": author.name, "machine": author.machine,
      "time": TimestampText.iso(time), "isRemoval": isRemoval,
    ]
  }
}

/// Both sides of a conflict: the kept value, and the dropped ones, newest first.
package struct ConflictSides: Sendable {
  package let kept: ConflictSide?
  package let dropped: [ConflictSide]

  package init(_ conflict: ValueConflict, in store: Store) throws(StoreError) {
    let maker = try Self.maker(ofKept: conflict, in: store)
    kept = try maker.map { (node) throws(StoreError) in
      try ConflictSide(node, isRemoval: conflict.ours == nil, in: store)
    }
    dropped = try conflict.theirs.map { (revision) throws(StoreError) in
      try ConflictSide(revision.maker, isRemoval: revision.entry == nil, in: store)
    }
  }

  /// Returns the version that made the kept value, or the newest of its group of files.
  static func maker(
    ofKept conflict: ValueConflict, in store: Store
  ) throws(StoreError) -> HistoryNode? {
    guard let kept = conflict.kept else { return nil }
    var newest = try maker(of: conflict.ours, at: conflict.key, in: kept, store)
    let head = store.map(of: try store.headRecord())
    for key in FileGroup(around: conflict.key).members where key != conflict.key {
      guard let entry = try head.entry(at: key) else { continue }
      let node = try maker(of: entry, at: key, in: try store.maker(of: entry), store)
      if HistoryNode.isOlder(newest, node) { newest = node }
    }
    return newest
  }

  /// Returns the version that first made a value, if undo of settling restored it in `node`.
  private static func maker(
    of entry: Entry?, at key: Key, in node: HistoryNode, _ store: Store
  ) throws(StoreError) -> HistoryNode {
    func isUndo(_ record: VersionRecord) throws(StoreError) -> Bool {
      try store.metadata(of: record)[.reopened] != nil
    }
    guard let record = try store.version(node.number), try isUndo(record) else { return node }
    for before in try store.versions(changing: key).reversed() where before.number < node.number {
      let held = try store.map(of: before).entry(at: key)
      guard held?.stored.digest == entry?.stored.digest, try !isUndo(before) else { continue }
      if let held { return try store.maker(of: held) }
      // A merge keeps a removal that another version made.
      if before.second == nil { return try store.graph.node(before.number) }
    }
    return node
  }

  /// For example `kept: laptop, Ann, 10:12; dropped: desk, Bob, 10:11`.
  package var text: String {
    var parts = kept.map { ["kept: \($0.text)"] } ?? []
    for (index, side) in dropped.enumerated() {
      let name = index == 0 ? "" : " (\(ConflictTexts.name(ofTheirs: index)))"
      parts.append("dropped\(name): \(side.text)")
    }
    return parts.joined(separator: "; ")
  }
}
