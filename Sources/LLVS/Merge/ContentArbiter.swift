/// Merges bytes where both sides changed different parts of them; elsewhere the value stored last wins.
///
/// Where it merges, nothing is dropped; where parts clash, the whole is decided by the fallback.
package struct ContentArbiter: ClashArbiter {
  package enum Method: Hashable, Sendable {
    /// Line by line.
    case text
    /// Property by property.
    case json
    /// By what the bytes are.
    case automatic
  }

  /// Longer values are not read.
  private static let maximumLength = UInt64(TextMerge.maximumLength)

  private let method: Method
  private let fallback: any ClashArbiter
  private let read: @Sendable (StoredContent) throws(StoreError) -> [UInt8]

  /// Creates an arbiter.
  ///
  /// - Parameters:
  ///   - method: how bytes are merged.
  ///   - fallback: decides where they cannot be.
  ///   - read: gives the bytes of a value.
  package init(
    _ method: Method, fallback: any ClashArbiter,
    read: @escaping @Sendable (StoredContent) throws(StoreError) -> [UInt8]
  ) {
    self.method = method
    self.fallback = fallback
    self.read = read
  }

  /// Creates an arbiter for values of a store.
  package init(_ method: Method, _ graph: VersionGraph, _ contents: ContentStore) {
    self.init(method, fallback: MostRecentChangeClashArbiter(graph: graph)) {
      stored throws(StoreError) in
      try contents.bytes(stored, atMost: Self.maximumLength)
    }
  }

  package func decide(_ clash: MergeClash) throws(StoreError) -> MergeDecision {
    guard let bytes = try merged(clash) else { return try fallback.decide(clash) }
    return .bytes(bytes, kind: .regular, dropping: [])
  }

  private func merged(_ clash: MergeClash) throws(StoreError) -> [UInt8]? {
    guard let base = clash.base, let first = clash.first, let second = clash.second else {
      return nil
    }
    for entry in [base, first, second] {
      guard entry.kind == .regular, entry.stored.length <= Self.maximumLength else { return nil }
    }
    let (o, a, b) = (try read(base.stored), try read(first.stored), try read(second.stored))
    switch method {
    case .text: return TextMerge.merged(base: o, first: a, second: b)
    case .json: return JSONMerge.merged(base: o, first: a, second: b)
    case .automatic:
      // Lines of JSON that fit beside each other need not make JSON.
      return JSONMerge.isJSON(o) && JSONMerge.isJSON(a) && JSONMerge.isJSON(b)
        ? JSONMerge.merged(base: o, first: a, second: b)
        : TextMerge.merged(base: o, first: a, second: b)
    }
  }
}
