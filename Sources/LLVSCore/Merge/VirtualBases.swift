internal import Synchronization

/// Several common ancestors merged into one map.
struct VirtualBase {
  let root: MapRoot
  /// The keys on which they clash, in order.
  let clashes: [Key]

  /// The approximate size of a key next to its bytes.
  private static let overhead = 48
  var byteCount: Int { clashes.reduce(0) { $0 + $1.bytes.count + Self.overhead } }
}

/// Virtual bases: several common ancestors merged into one map (docs/merging.md, M8), made once each.
///
/// A base depends only on the versions that it is merged from and is kept in memory under them. So with replicas
/// that merge at the same moment repeatedly, a merge costs only the changes since the last.
/// - Concurrency: any thread; the locks are leaves and not held while bases are made.
package final class VirtualBases: Sendable {
  /// Bases whose nodes are kept together, and dropped together when they take too much memory.
  package final class Batch: Sendable {
    let overlay: OverlayNodes
    let nodes = NodeCache(budget: 1 << 24)
    let made = Mutex<[[VersionNumber]: VirtualBase]>([:])

    init(over storage: any NodeStorage) { overlay = OverlayNodes(over: storage) }
  }

  private let storage: any NodeStorage
  private let limit: Int
  private let batch: Mutex<Batch>

  package init(over storage: any NodeStorage, limit: Int = 64 << 20) {
    self.storage = storage
    self.limit = limit
    batch = Mutex(Batch(over: storage))
  }

  package func current() -> Batch {
    batch.withLock { batch in
      if isFull(batch) { batch = Batch(over: storage) }
      return batch
    }
  }

  func isFull(_ batch: Batch) -> Bool { batch.overlay.byteCount >= limit }
  package var count: Int { batch.withLock { batch in batch.made.withLock { $0.count } } }
}

/// The virtual bases that a merger may use and adds to. Bases made from versions of a transaction are dropped when
/// it is rolled back, because the next versions have the same numbers.
package final class KnownBases: Sendable {
  let batch: VirtualBases.Batch
  private let committed: VersionNumber
  private let own = Mutex<[[VersionNumber]: VirtualBase]>([:])

  /// Over a batch, for a merger that sees versions after `committed` too.
  init(_ batch: VirtualBases.Batch, committed: VersionNumber = VersionNumber(.max)) {
    self.batch = batch
    self.committed = committed
  }

  private func isLasting(_ versions: [VersionNumber]) -> Bool {
    versions.allSatisfy { $0 <= committed }
  }

  func base(of versions: [VersionNumber]) -> VirtualBase? {
    guard !isLasting(versions) else { return batch.made.withLock { $0[versions] } }
    return own.withLock { $0[versions] }
  }

  func keep(_ base: VirtualBase, of versions: [VersionNumber]) {
    batch.overlay.note(base.byteCount)
    if isLasting(versions) {
      batch.made.withLock { $0[versions] = base }
    } else {
      own.withLock { $0[versions] = base }
    }
  }

  /// Called when the versions of the transaction are committed.
  func confirm() {
    let own = own.withLock { $0 }
    batch.made.withLock { $0.merge(own) { kept, _ in kept } }
  }
}

/// Makes the virtual bases of one merge. It does not recurse, because the chain may be as long as the history.
struct BaseMaker {
  let merger: Merger
  let known: KnownBases

  private func opened(_ root: MapRoot) -> ValueMap {
    ValueMap(root: root, storage: known.batch.overlay, cache: known.batch.nodes)
  }

  /// The map of a base; nil if not made yet.
  private func found(_ versions: [VersionNumber]) throws(StoreError) -> ValueMap? {
    guard let last = versions.last else { return opened(.empty) }
    guard versions.count > 1 else { return opened(try merger.maps.valueMap(ofVersion: last).root) }
    return known.base(of: versions).map { opened($0.root) }
  }

  /// Merges versions in the order given, each over its common base with those before it.
  func map(of versions: [VersionNumber]) throws(StoreError) -> ValueMap {
    var open: [(versions: [VersionNumber], common: [VersionNumber]?)] = [(versions, nil)]
    while true {
      if let map = try found(versions) { return map }
      guard let next = open.last, let last = next.versions.last else { break }
      guard try found(next.versions) == nil else {
        open.removeLast()
        continue
      }
      let before = Array(next.versions.dropLast())
      var common = next.common ?? []
      if next.common == nil {
        common = try merger.graph.commonAncestors(before, [last]).map(\.number)
        open[open.count - 1].common = common
      }
      guard let base = try found(common) else {
        open.append((common, nil))
        continue
      }
      guard let first = try found(before) else {
        open.append((before, nil))
        continue
      }
      // Without an arbiter versions have no effect, and revisions of bases are never shown.
      let node = try merger.graph.node(last)
      var merge = MapMerge(
        base: base, first: first, second: opened(try merger.maps.valueMap(ofVersion: last).root),
        firstVersion: node, secondVersion: node, rule: .withoutArbiter, graph: merger.graph,
        number: last, documents: nil, allotRevision: { () throws(StoreError) in 0 },
        write: MergeDecision.refuse)
      let root = try merge.run().root
      let clashes = Set(known.base(of: before)?.clashes ?? []).union(merge.clashes)
      known.keep(VirtualBase(root: root, clashes: clashes.sorted()), of: next.versions)
    }
    throw .corrupt("a merge has no base")
  }
}
