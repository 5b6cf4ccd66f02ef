/// The bases of a merge that has several (docs/merging.md, M8).
package struct MergeBases: Sendable {
  let merger: Merger
  /// In ascending order of (timestamp, id).
  let versions: [VersionNumber]

  /// The most lists of versions that are merged for one value.
  private static let most = 64

  /// Returns the bytes of a value in the bases, merged in their order, each over its common part with the earlier
  /// ones; nil if no base has it, or a merge of them is not possible.
  ///
  /// `bytes` reads a value, and returns nil if that is not possible; `merge` merges two values over a base.
  func bytes(
    at key: Key, reading bytes: (Entry) throws(StoreError) -> [UInt8]?,
    merging merge: (_ base: [UInt8], _ older: [UInt8], _ newer: [UInt8]) -> [UInt8]?
  ) throws(StoreError) -> [UInt8]? {
    enum Found {
      case absent
      case unknown
      case bytes([UInt8])
    }
    var known: [[VersionNumber]: Found] = [:]
    func found(_ versions: [VersionNumber]) throws(StoreError) -> Found {
      guard let last = versions.last else { return .absent }
      if let found = known[versions] { return found }
      guard known.count < Self.most else { return .unknown }
      known[versions] = .unknown
      var result = Found.absent
      if let entry = try merger.maps.valueMap(ofVersion: last).entry(at: key) {
        guard let bytes = try bytes(entry) else { return .unknown }
        result = .bytes(bytes)
      }
      let before = Array(versions.dropLast())
      if !before.isEmpty {
        let common = try merger.graph.commonAncestors(before, [last]).map(\.number)
        switch (try found(common), try found(before), result) {
        case (.unknown, _, _), (_, .unknown, _), (_, _, .unknown): result = .unknown
        case (_, let one, .absent): result = one
        case (_, .absent, _), (.absent, _, _): break
        case (.bytes(let base), .bytes(let older), .bytes(let newer)):
          result = merge(base, older, newer).map { .bytes($0) } ?? .unknown
        }
      }
      known[versions] = result
      return result
    }
    guard case .bytes(let bytes) = try found(versions) else { return nil }
    return bytes
  }
}
