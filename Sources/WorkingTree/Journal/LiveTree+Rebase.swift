import Inodes
import LLVSCore
import TreeNames

// Replaying a cut that the store committed and the tree did not install.

extension LiveTree {
  /// Lays what is pending over the head that a committed cut made, as installing that would have.
  ///
  /// - Complexity: that of the cut without storing its bytes, which are compared.
  func rebase(_ plan: CutPlan, onto state: LiveState) throws(StoreError) {
    let made = try CutVersions(tree: self, plan: plan, message: nil)
      .recalled(state.record, own: state.ownVersion)
    let shown = try ShownTree(after: plan, made, of: self, from: .installed(state.map))
    var installation = Installation(
      base: plan.base, head: state.head, ownVersion: made.own, entries: made.entries,
      stale: made.stale, sides: made.sides)
    installation.leavesHistory = state.record.leavesHistory
    let placed = try installation.places(of: plan, shown, made)
    let difference = try LiveMap.differences(from: shown.map, to: state.map, placed)
    try installation.put(state.map, difference, after: plan, shown, placed)
    _ = install(installation, after: plan)
  }

  /// Whether the bytes of what a version has are those that a plan took of a node.
  func wasTaken(
    _ state: CutPlan.NodeState, as entry: Entry
  ) throws(StoreError) -> Bool {
    guard let chosen = state.taken else { return true }
    let content = chosen.content
    guard content.size == entry.stored.length else { return false }
    if let stored = content.unchangedBase { return stored.digest == entry.stored.digest }
    let source = ContentReader(tree: self, content: content)
    do throws(StoreError) {
      return try isSame(content, source, entry)
    } catch {
      // A cut read these bytes whole before the store committed it: what is left of them is in a version.
      guard error.damage != nil else { throw error }
      return true
    }
  }

  private func isSame(
    _ content: FileContent, _ source: ContentReader, _ entry: Entry
  ) throws(StoreError) -> Bool {
    var offset: UInt64 = 0
    while offset < content.size {
      let count = Int(min(1 << 16, content.size - offset))
      let at = offset
      let mine = try [UInt8].filled(count) { (buffer) throws(StoreError) in
        try source.read(at: at, into: buffer)
      }
      let theirs = try [UInt8].filled(count) { (buffer) throws(StoreError) in
        _ = try store.contents.read(entry.stored, at: at, into: buffer)
      }
      guard mine == theirs else { return false }
      offset += UInt64(count)
    }
    return true
  }
}
