import LLVSCore
import TreeNames

/// What the live tree shows of a plan that is being made versions of: what differs from that in the new head
/// was brought by others, whatever it is.
///
/// Where all was made on the head it is the version that was made. Where something was made on older
/// versions, as by whoever saved or removed while a merge or a switch worked, none of the versions is: the
/// tree shows everything that is pending at once, and what the merge of them comes to is as foreign to it
/// as what came from elsewhere.
struct ShownTree {
  let map: ValueMap
  /// The nodes that the plan puts at places.
  let placed: [MapPlace: UInt64]
  /// See ``EditBuilder/displacedCopies``.
  let displacedCopies: [(path: [UInt8], entry: Entry)]
  private let entries: PlannedEntries
  /// Entries are those of versions.
  private let isMade: Bool

  /// - Parameters:
  ///   - plan: the plan.
  ///   - made: what was made of it.
  ///   - tree: the tree.
  ///   - source: where numbers come from.
  /// - Throws: what reading the base throws.
  /// - Complexity: O(1) where all was made on the head, else O(*k* log *n*) for *k* items.
  init(
    after plan: CutPlan, _ made: CutVersions.Made, of tree: LiveTree, from source: CutSource
  ) throws(StoreError) {
    guard made.isApart else {
      map = made.ownMap ?? plan.base.map
      placed = made.placed
      displacedCopies = made.displacedCopies
      entries = made.entries
      isMade = true
      return
    }
    // Who stands at the name of a detached file shows what the base has there.
    let detached = Set(plan.detached.map(\.inode))
    let items = plan.items.filter { item in
      guard case .put(let state, _) = item.action else { return true }
      return !detached.contains(state.node.inode)
    }
    var builder = EditBuilder(
      tree: tree, view: plan.base, source: source,
      number: VersionNumber(tree.store.lastNumber + 1), items: items, stored: made.entries)
    for item in items { try builder.add(item, nil) }
    try builder.finish(keeping: plan.kept.map(\.path))
    let base = plan.base.map
    let edits = builder.sortedEdits().makeIterator()
    map = try ValueMap(
      root: base.root, storage: OverlayNodes(over: base.storage), cache: base.cache
    ).applying { edits.next() }
    placed = builder.placed
    displacedCopies = builder.displacedCopies
    entries = builder.entries
    isMade = false
  }

  /// The entries that the plan's nodes have in a map that is put under the tree, or have until what differs
  /// there is installed.
  func entries(in final: ValueMap) throws(StoreError) -> PlannedEntries {
    if isMade { return entries }
    var found = entries
    for inode in entries.inodes {
      guard let entry = entries[inode],
        let now = try final.entry(at: entry.key, directory: entry.isDirectory),
        now.hasSameContent(as: entry)
      else { continue }
      found[inode] = now
    }
    return found
  }
}
