import Grammar
import LLVSCore
import TreeNames

struct MergePreview {
  private var signs: [[UInt8]: String] = [:]
  /// The makers of both sides of each value that both changed, by path.
  fileprivate var sides: [[UInt8]: (ours: ConflictSide, theirs: ConflictSide)] = [:]
  private(set) var clashes: [Key] = []
  private(set) var displaced: [Key] = []
  private static let limit = 10_000

  /// Adds a merge's changes in a map: `+` new, `-` removed, `*` changed, `!` a clash or new displacement.
  mutating func add(
    _ result: MergeResult, to map: ValueMap, displacing known: [Key]
  ) throws(StoreError) {
    let (before, after) = (TreeView(map: map), TreeView(map: result.map))
    for edit in result.edits {
      let old = try map.entry(at: edit.key, directory: edit.isDirectory)
      switch edit {
      case .put(let entry):
        if let old, old.hasSameContent(as: entry) { continue }
        signs[try path(edit, in: after)] = old == nil ? "+" : "*"
      case .remove: signs[try path(edit, in: before)] = "-"
      }
    }
    clashes += result.dropped.map(\.key)
    let known = Set(known + displaced)
    displaced += try after.valuesBehindDirectories(knowing: Array(known), of: map).filter {
      !known.contains($0)
    }
    for key in clashes + displaced { signs[TreeView.ownPath(key)] = "!" }
  }

  mutating func add(from old: ValueMap, to new: ValueMap) throws(StoreError) {
    let (before, after) = (TreeView(map: old), TreeView(map: new))
    var diff = try MapDiff(from: old, to: new, comparing: .content)
    while let change = try diff.next() {
      let path =
        change.isDirectory
        ? TreeView.ownPath(change.key)
        : try (change.new == nil ? before : after).path(of: change.key)
      signs[path] = change.old == nil ? "+" : change.new == nil ? "-" : "*"
    }
  }

  private func path(_ edit: MapEdit, in view: TreeView) throws(StoreError) -> [UInt8] {
    edit.isDirectory ? TreeView.ownPath(edit.key) : try view.path(of: edit.key)
  }

  private var sorted: [(path: [UInt8], sign: String)] {
    signs.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
  }

  var count: Int { signs.count }

  var lines: [String] {
    let all = sorted
    let shown = all.prefix(Self.limit).map { path, sign in
      let both = sides[path].map { " (ours: \($0.ours.text); theirs: \($0.theirs.text))" } ?? ""
      return "\(sign) \(String(decoding: path, as: UTF8.self))\(both)"
    }
    return shown + (all.count > Self.limit ? ["... \(all.count - Self.limit) more"] : [])
  }

  var reply: ReplyValue {
    .list(
      sorted.prefix(Self.limit).map { path, sign in
        let change: ReplyValue = ["path": ReplyBytes(path), "change": sign]
        guard let both = sides[path] else { return change }
        return change + ["ours": both.ours, "theirs": both.theirs]
      })
  }
}

extension ControlService {
  /// The maker of a version's value at a key, or of the version without one.
  private func side(of key: Key, in record: VersionRecord) throws(StoreError) -> ConflictSide {
    let entry = try store.map(of: record).entry(at: key)
    let node = try store.graph.node(entry?.storedVersion ?? record.number)
    return try ConflictSide(node, isRemoval: entry == nil, in: store)
  }

  /// Reports the changes and clashes of a merge without making it; pending changes are not considered.
  func dryRun(
    _ merge: MergeCommand, _ others: [VersionRecord]?, _ arbitration: Arbitration
  ) throws -> CommandResult {
    var preview = MergePreview()
    var summary = MergeSummary()
    summary.trials = arbitration.trials
    summary.isSettled = merge.arbiter?.isOneSide == true
    try store.write { (transaction) throws(StoreError) in
      guard let record = try store.headRecord() else { return }
      let head = record.number
      let graph = transaction.merger.graph
      let line = try line(of: head, in: transaction)
      let all = merge.target == .all
      let named = if let others { others } else { try heads(of: graph, line, all: all) }
      for other in named where other.number != head {
        let (a, b) = (try graph.node(head), try graph.node(other.number))
        if others == nil, try !graph.areRelated(a, b) { continue }
        guard
          let result = try transaction.dryRun(
            head, other.number, allowingUnrelated: merge.isUnrelated,
            arbiter: arbitration.arbiter)
        else {
          // One head is an ancestor of the other: the tree switches to the later one, or stays.
          guard try graph.isAncestorOrSelf(head, of: other.number) else { continue }
          try preview.add(from: store.map(record.map), to: store.map(other.map))
          summary.heads += summary.heads == 0 ? 2 : 1
          continue
        }
        summary.heads += summary.heads == 0 ? 2 : 1
        try preview.add(
          result, to: store.map(record.map), displacing: displaced.keys(at: head, in: store))
        for drop in result.dropped {
          let key = drop.key
          preview.sides[TreeView.ownPath(key)] = (
            try self.side(of: key, in: record), try self.side(of: key, in: other)
          )
        }
      }
    }
    summary.values = preview.count
    summary.add(clashes: preview.clashes)
    summary.add(displaced: preview.displaced)
    var text = ["would merge \(summary.text)"] + preview.lines
    let lacked = Set(arbitration.lacked.takeWanted().map { TreeView.ownPath($0.key) })
    if !lacked.isEmpty {
      text.append(
        "the merge needs bytes of \(Self.names(lacked.sorted { $0.lexicographicallyPrecedes($1) })) that this store "
          + "lacks: it asks the peers for them")
    }
    return CommandResult(
      summary.heads == 0 ? "nothing to merge" : text.joined(separator: "\n"),
      [
        "version": ReplyValue.null, "heads": summary.heads, "values": summary.values,
        "conflicts": summary.conflicts, "settled": summary.settled,
        "arbiterFailures": summary.trials.reply, "changes": preview.reply,
      ])
  }
}
