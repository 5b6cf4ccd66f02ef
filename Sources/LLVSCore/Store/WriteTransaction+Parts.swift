// A version with more extended attributes than peers accept in one version.
//
// The version holds the bytes, the names and as many extended attributes as are allowed. The others are in versions
// based on it, with empty change lists, added in one transaction: a peer never sees the first without the last.

extension WriteTransaction {
  /// Returns drafts, each based on the one before; the last has the map of a draft that is too long.
  func parts(of draft: AuthoredVersion) throws(StoreError) -> [AuthoredVersion] {
    var postponed: [Postponed] = []
    var ends: [Int] = []
    var length = 0
    var diff = try MapDiff(from: draft.base, to: draft.map)
    while let change = try diff.next() {
      guard let new = change.new, !new.attributes.extended.isEmpty, !change.isNone else { continue }
      let own = new.attributes.extendedLength
      if length + own > draft.extendedLimit {
        ends.append(postponed.count)
        length = 0
      }
      length += own
      guard !ends.isEmpty else { continue }
      postponed.append(Postponed(key: change.key, before: try before(change, new)))
    }
    let whole = ValueMap(root: draft.map.root, storage: nodes, cache: draft.map.cache)
    var first = draft
    first.known = nil
    var edits = postponed.makeIterator()
    first.map = try whole.applying { edits.next().map { .put($0.before) } }
    var parts = [first]
    for (index, start) in ends.enumerated() {
      let end = index + 1 < ends.count ? ends[index + 1] : postponed.count
      var cursor = MapCursor(whole)
      var rest = postponed[start..<end]
      let base = parts[index].map
      let isLast = index + 1 == ends.count
      let map =
        isLast
        ? whole
        : try base.applying { () throws(StoreError) -> MapEdit? in
          guard let next = rest.popFirst() else { return nil }
          let isDirectory = next.before.isDirectory
          try cursor.seek(to: next.key.bytes, directory: isDirectory)
          return try cursor.entry(at: next.key, directory: isDirectory).map { .put($0) }
        }
      parts.append(
        AuthoredVersion(
          // Reserved when the part before it was added.
          number: draft.number, first: nil, base: base, map: map, line: draft.line,
          author: draft.author, message: draft.message, metadata: draft.metadata))
    }
    return parts
  }

  /// An entry whose extended attributes are added later, in its state until then.
  private struct Postponed {
    var key: Key
    var before: Entry
  }

  private func before(_ change: MapChange, _ new: Entry) throws(StoreError) -> Entry {
    // A change of attributes alone is made later as a whole.
    if let old = change.old, old.isDirectory || old.storedVersion == new.storedVersion {
      return old
    }
    var short = new
    short.attributes.extended = []
    // Equal bytes with other attributes need another revision.
    short.revision = try allotRevisions()
    return short
  }
}

extension Attributes {
  /// The bytes of the extended attributes, names included.
  package var extendedLength: Int { extended.reduce(0) { $0 + $1.name.count + $1.value.count } }
}

extension MapChange {
  var isNone: Bool {
    guard let old, let new else { return false }
    return old.hasSameContent(as: new) && old.storedVersion == new.storedVersion
  }
}
