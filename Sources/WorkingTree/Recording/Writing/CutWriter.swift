package import Inodes
package import LLVSCore
package import Platform
import TreeNames

package struct CutMaker: Sendable {
  package var author: Author?
  package var message: String?
  package var arbiter: @Sendable (VersionGraph) -> any ClashArbiter = {
    MostRecentChangeClashArbiter(graph: $0)
  }
}

package struct CutVersions {
  package var head: VersionNumber?
  /// The version made on the head before.
  package var own: VersionNumber?
  package var newest: VersionRecord?
  /// The versions of the groups; a group that changed nothing has none.
  package var groups: [EditGroup: VersionNumber] = [:]
  package var summary = CutSummary()
  /// True if values displaced by directories get other names.
  package var renamesDisplaced = false
  package init(head: VersionNumber?) { self.head = head }
}

/// Writes the versions of a cut in one transaction: one for each group of changes, oldest first, merged.
/// - Concurrency: one thread at a time.
package final class CutWriter {
  /// The number of edits from which on a helper thread pays.
  private static let longCut = 256
  private let store: Store
  private let tree: FrozenTree
  private let contents: any PendingContents
  private let maker: CutMaker
  private let helper: ForkJoin
  private var entries: EntryMaker?
  /// The file, and its bytes, that could not be read when writing failed.
  package var failed: (number: InodeNumber, content: FileContent, isForgotten: Bool)? {
    entries?.failed
  }

  /// `helper` does a part of the work of long cuts.
  package init(
    _ store: Store, tree: FrozenTree, contents: any PendingContents, maker: CutMaker,
    helper: ForkJoin
  ) {
    self.store = store
    self.tree = tree
    self.contents = contents
    self.maker = maker
    self.helper = helper
  }

  /// Adds the versions to a transaction.
  /// - Throws: ``StoreError`` if bytes cannot be read or stored; ``failed`` has the file, if one caused it.
  /// - Complexity: O(*k* log *n*) for *k* changes, and their bytes.
  package func write(
    _ recording: GroupedRecording, on predecessors: Predecessors, in transaction: WriteTransaction
  ) throws(StoreError) -> CutVersions {
    let head = predecessors.head
    var made = CutVersions(head: head)
    entries = EntryMaker(
      transaction, tree: tree, contents: contents, head: try predecessors.view(head))
    let excluded = try excludedPaths(recording.recording)
    let line = try line(of: head)
    var heads: [VersionNumber] = []
    var left: [String: [VersionNumber]] = [:]
    for group in recording.order {
      let joinsHead = try predecessors.isAncestor(group.predecessor)
      let groupLine = joinsHead ? line : try self.line(of: group.predecessor)
      guard
        let number = try add(
          recording.groups[group] ?? [], group, groupLine, excluded, predecessors, transaction,
          &made)
      else { continue }
      made.groups[group] = number
      if group == recording.own { made.own = number }
      if joinsHead { heads.append(number) } else { left[groupLine, default: []].append(number) }
    }
    for (line, versions) in left.sorted(by: { $0.key < $1.key }) {
      try join(versions, on: line, transaction)
    }
    if heads.isEmpty { return made }
    if made.own == nil, let head { heads.insert(head, at: 0) }
    let merged = try transaction.mergeSides(
      heads, live: made.own ?? head,
      // A first version from another store has no common ancestor with what writers saw before it.
      allowingUnrelated: recording.order.contains { $0.predecessor == nil }, arbiter: maker.arbiter)
    made.newest = merged.made.last?.record ?? made.newest
    made.head = merged.outcome
    return made
  }

  private func line(of version: VersionNumber?) throws(StoreError) -> String {
    guard let version else { return VersionRecord.unnamedLine }
    return try store.version(version)?.line ?? VersionRecord.unnamedLine
  }

  /// The recorded paths of the names that changes decide.
  private func excludedPaths(_ recording: Recording) throws(StoreError) -> Set<TreePath> {
    guard recording.edits.contains(where: { $0.kind == .move }) else { return [] }
    var paths: Set<TreePath> = []
    for (directory, names) in recording.excluded {
      guard let above = try tree.recordedPath(of: directory) else { continue }
      for name in names { paths.insert(above.appending(name)) }
    }
    return paths
  }

  private func add(
    _ edits: [PathEdit], _ group: EditGroup, _ line: String, _ excluded: Set<TreePath>,
    _ predecessors: Predecessors, _ transaction: WriteTransaction, _ made: inout CutVersions
  ) throws(StoreError) -> VersionNumber? {
    guard let entries else { return nil }
    let view = try predecessors.view(group.predecessor)
    entries.begin(on: view)
    var editor = GroupEditor(edits, on: view, excluded: excluded, maker: entries)
    try ContentsAhead.of(edits, contents, store, helper) { (ahead) throws(StoreError) in
      try editor.run { (index) throws(StoreError) in try ahead?.take(index) }
    }
    if editor.renamesDisplaced { made.renamesDisplaced = true }
    let sorted = editor.map.sorted()
    guard sorted.count > 0 else { return nil }
    let base = view.map
    let steps = sorted.makeIterator()
    let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
      .applying { steps.next() }
    guard map.contentDigest != base.contentDigest || entries.replacesDamaged else { return nil }
    for case .put(let entry) in sorted { transaction.noteLink(entry) }
    func summarize() throws(StoreError) -> CutSummary { try CutSummary(of: sorted, on: base) }
    func add() throws(StoreError) -> VersionRecord {
      try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: group.predecessor, base: base, map: map,
          line: line == VersionRecord.unnamedLine ? nil : Branch(rawValue: line),
          author: maker.author, message: maker.message))
    }
    let (summary, version) =
      sorted.count >= Self.longCut
      ? try helper.both(summarize, beside: add) : (try summarize(), try add())
    made.summary.add(summary)
    made.newest = version
    return version.number
  }

  /// Merges versions of another line with what followed their predecessors there, so that programs that write
  /// through a switch do not leave a head each time.
  private func join(
    _ versions: [VersionNumber], on line: String, _ transaction: WriteTransaction
  ) throws(StoreError) {
    let graph = transaction.merger.graph
    let branch = line == VersionRecord.unnamedLine ? nil : Branch(rawValue: line)
    var heads = versions
    for head in try graph.uncontainedHeads(ofLine: branch) where !versions.contains(head.number) {
      for version in versions {
        guard let from = try graph.node(version).first,
          try graph.isAncestorOrSelf(from, of: head.number)
        else { continue }
        heads.append(head.number)
        break
      }
    }
    guard heads.count > 1 else { return }
    _ = try transaction.mergeSides(heads, live: nil, arbiter: maker.arbiter)
  }
}
