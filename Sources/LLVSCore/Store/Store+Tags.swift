// Tags (docs/merging.md, M6): an empty version after the tagged one, on a line of its own. Of several with one
// name, the greatest (timestamp, id) counts.

extension Branch {
  /// The prefix of the lines of tags; they are never merged, listed or counted as heads.
  private static let tagPrefix = "llvs.tag/"

  package static func tag(_ name: String) -> Branch { Branch(rawValue: tagPrefix + name) }

  /// The line of the versions that remove this line's name; nil for a rule's own line.
  var end: Branch? { rawValue.hasPrefix("llvs.") ? nil : Branch(rawValue: "llvs.end/" + rawValue) }
}

extension Store {
  package func version(tagged name: String) throws(StoreError) -> VersionRecord? {
    guard let tag = try tagNode(name) else { return nil }
    guard let first = tag.first else { return try version(tag.number) }
    // A version after the one that carried the tag removed it.
    return try graph.node(first).line == tag.line ? nil : version(first)
  }

  /// About `limit` names of tags after a name, in the order of bytes; at least one except at the end.
  package func tags(after name: String?, limit: Int) throws(StoreError) -> [String] {
    let prefix = Branch.tag("").rawValue
    var found: [String] = []
    // The line of the empty name, which no tag has, is before all others.
    var last = Branch.tag(name ?? "").rawValue
    while found.isEmpty {
      let lines = try lines(after: last, limit: limit).prefix { $0.hasPrefix(prefix) }
      guard let end = lines.last else { break }
      last = end
      for line in lines {
        let name = String(line.dropFirst(prefix.count))
        if try version(tagged: name) != nil { found.append(name) }
      }
    }
    return found
  }

  private func tagNode(_ name: String) throws(StoreError) -> HistoryNode? {
    try graph.heads(ofLine: .tag(name)).last
  }

  func tagNumber(_ name: String) throws(StoreError) -> VersionNumber? { try tagNode(name)?.number }
}

extension WriteTransaction {
  /// Tags a committed version; moves the tag if another version has it.
  package func tag(
    _ version: VersionRecord, as name: String, author: Author?
  ) throws(StoreError) -> VersionRecord {
    // Later than the version with the tag, whose clock may be ahead of this one.
    let before = try store.tagNumber(name)
    return try mark(
      version, .tag(name), "tag \(name)", after: before.map { [$0] } ?? [], author)
  }

  package func removeTag(_ name: String, author: Author?) throws(StoreError) -> Bool {
    guard try store.version(tagged: name) != nil, let number = try store.tagNumber(name),
      let carrier = try version(number)
    else { return false }
    _ = try mark(carrier, .tag(name), "remove tag \(name)", author)
    return true
  }

  /// Removes the name of a line at some of its heads; the versions stay.
  package func end(_ line: Branch, at heads: [VersionRecord], author: Author?) throws(StoreError) {
    guard let end = line.end else { return }
    for head in heads { _ = try mark(head, end, "remove branch \(line.rawValue)", author) }
  }

  /// Adds a version that changes nothing, on a line that names its purpose.
  private func mark(
    _ version: VersionRecord, _ line: Branch, _ message: String, after others: [VersionNumber] = [],
    _ author: Author?
  ) throws(StoreError) -> VersionRecord {
    var metadata: Version.Metadata = [
      .branch: Version.MetadataValue(line.rawValue), .message: Version.MetadataValue(message),
      .digest: Version.MetadataValue(version.map.digest.hex),
    ]
    author?.add(to: &metadata)
    return try add(
      NewVersion(
        number: try reserveVersion(), id: .random(), first: version.number,
        timestamp: try timestamp(after: [version.number] + others),
        line: line.rawValue, flags: [.madeHere, .changedNothing], metadata: metadata,
        map: version.map))
  }
}
