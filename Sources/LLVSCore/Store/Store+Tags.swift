// Tags (docs/merging.md, M6): a tag is an empty version after the one it names, on a line of its
// own. Where there are several of a name, the greater (timestamp, id) holds.

extension Branch {
  /// The prefix of the lines of tags; they are never merged, listed or counted as heads.
  private static let tagPrefix = "llvs.tag/"

  /// Returns the line of a tag.
  package static func tag(_ name: String) -> Branch { Branch(rawValue: tagPrefix + name) }
}

extension Store {
  /// Returns the version that a tag names; nil if there is no such tag.
  ///
  /// - Complexity: O(log *n*) for each version that carries the tag.
  package func version(tagged name: String) throws(StoreError) -> VersionRecord? {
    guard let tag = try tagNode(name) else { return nil }
    return try version(tag.first ?? tag.number)
  }

  /// Returns the names of tags, in the order of their bytes, after a name that need not be one of
  /// them.
  ///
  /// - Returns: at most `limit` names; none at the end.
  package func tags(after name: String?, limit: Int) throws(StoreError) -> [String] {
    let prefix = Branch.tag("").rawValue
    // The line of the empty name, which no tag has, is before all others.
    let lines = try lines(after: Branch.tag(name ?? "").rawValue, limit: limit)
    return lines.prefix { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
  }

  /// Returns the version that carries a tag now.
  private func tagNode(_ name: String) throws(StoreError) -> HistoryNode? {
    try graph.heads(ofLine: .tag(name)).last
  }

  /// Returns the number of the version that carries a tag now.
  func tagNumber(_ name: String) throws(StoreError) -> VersionNumber? { try tagNode(name)?.number }
}

extension WriteTransaction {
  /// Tags a committed version; moves the tag if another version has it.
  ///
  /// - Throws: ``StoreError/attemptToAddVersionWithNonexistingPredecessors(_:)`` or what writing
  ///   throws.
  package func tag(
    _ version: VersionRecord, as name: String, author: Author?
  ) throws(StoreError) -> VersionRecord {
    let number = try reserveVersion()
    var metadata: Version.Metadata = [
      .branch: Version.MetadataValue(Branch.tag(name).rawValue),
      .message: Version.MetadataValue("tag \(name)"),
      .digest: Version.MetadataValue(version.map.digest.hex),
    ]
    author?.add(to: &metadata)
    // Later than the version that carried the tag, whose clock may be ahead of this one.
    let before = try store.tagNumber(name)
    return try add(
      NewVersion(
        number: number, id: .random(), first: version.number,
        timestamp: try timestamp(after: [version.number] + (before.map { [$0] } ?? [])),
        line: Branch.tag(name).rawValue, flags: [.madeHere, .changedNothing], metadata: metadata,
        map: version.map))
  }
}
