/// Merges bytes of both sides: takes each change from the side that made it.
///
/// If both changed the same place differently, the merge takes the newer change and lists the older one as a
/// conflict. If nothing can be merged, it takes the whole value that was stored last.
package struct ContentArbiter: ClashArbiter {
  package enum Method: Hashable, Sendable {
    case text
    case json
    /// Line by line; lines that clash all stay, so that nothing is dropped.
    case union
    case automatic
  }

  /// Longer values are not read.
  private static let maximumLength = UInt64(TextMerge.maximumLength)
  private let method: Method
  private let graph: VersionGraph
  private let contents: ContentStore
  private let lacked: LackedBytes?

  package init(
    _ method: Method, _ graph: VersionGraph, _ contents: ContentStore, lacked: LackedBytes? = nil
  ) {
    self.lacked = lacked
    self.method = method
    self.graph = graph
    self.contents = contents
  }

  package func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision {
    guard clash.mayMergeContent else {
      return try MostRecentChangeClashArbiter(graph: graph).decide(clash)
    }
    let newer = try clash.newerSide(in: graph)
    // All of them are wanted at once, where bytes are lacking.
    let (base, one, other) =
      (try baseBytes(clash), try bytes(clash.first), try bytes(clash.second))
    guard let first = one, let second = other else {
      return try MostRecentChangeClashArbiter(graph: graph).decide(clash)
    }
    let (mine, theirs) = newer == .second ? (first, second) : (second, first)
    // The changes of a side are known only with a base; a union needs none.
    guard method == .union || base != nil, clash.base == nil || base != nil,
      let merged = merged(method, base: base, older: mine, newer: theirs)
    else { return try MostRecentChangeClashArbiter(graph: graph).decide(clash) }
    guard merged.hasClash else { return .bytes(merged.bytes, kind: .regular, dropping: []) }
    return merged.bytes == theirs
      ? .take(newer) : .bytes(merged.bytes, kind: .regular, dropping: [newer.other])
  }

  package func settling(
    _ key: Key, base: Entry?, kept: Entry, with other: Entry
  ) throws(StoreError) -> [UInt8]? {
    // The base of values that are no texts is not wanted.
    guard let kept = try bytes(kept), let other = try bytes(other), TextMerge.isText(kept),
      TextMerge.isText(other), let base = try bytes(base)
    else { return nil }
    let method = method == .union ? .text : method
    return merged(method, base: base, older: kept, newer: other)?.bytes
  }

  private func baseBytes(_ clash: MergeClash) throws(StoreError) -> [UInt8]? {
    guard let bases = clash.bases, clash.first != nil, clash.second != nil else {
      return try bytes(clash.base)
    }
    return try bases.bytes(at: clash.key) { (entry) throws(StoreError) in
      try bytes(entry)
    } merging: { base, older, newer in
      merged(method, base: base, older: older, newer: newer)?.bytes
    }
  }

  /// Returns a value's bytes; nil if it cannot be merged, or if this store lacks it.
  private func bytes(_ entry: Entry?) throws(StoreError) -> [UInt8]? {
    guard let entry, entry.kind == .regular, entry.stored.length <= Self.maximumLength else {
      return nil
    }
    do throws(StoreError) {
      return try contents.bytes(entry.stored, atMost: Self.maximumLength)
    } catch {
      guard error.isForgotten else { throw error }
      return lacked?.bytes(of: entry)
    }
  }

  private func merged(
    _ method: Method, base: [UInt8]?, older: [UInt8], newer: [UInt8]
  ) -> MergedContent? {
    switch (method, base) {
    case (.union, _):
      return TextMerge.merged(base: base, older: older, newer: newer, clashes: .keepBoth)
    case (_, nil): return nil
    case (.text, let base?): return TextMerge.merged(base: base, older: older, newer: newer)
    case (.json, let base?): return JSONMerge.merged(base: base, older: older, newer: newer)
    case (.automatic, let base?):
      // JSON values merged line by line may not be JSON.
      return JSONMerge.merged(base: base, older: older, newer: newer)
        ?? TextMerge.merged(base: base, older: older, newer: newer)
    }
  }
}

extension MergeClash {
  /// The side with the newer value, by (timestamp, generation, id) of the versions that stored both; if one side
  /// removed the value, the other. It is the same on every replica, in either order of the sides.
  package func newerSide(in graph: VersionGraph) throws(StoreError) -> MergeSide {
    guard let first else { return .second }
    guard let second else { return .first }
    if first.storedVersion == second.storedVersion {
      return HistoryNode.isOlder(firstVersion, secondVersion) ? .second : .first
    }
    let (a, b) = (try graph.node(first.storedVersion), try graph.node(second.storedVersion))
    return HistoryNode.isOlder(a, b) ? .second : .first
  }
}
