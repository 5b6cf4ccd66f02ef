package import LLVSCore

/// Values that this store wrote in a document under a former name, before the store was set back.
///
/// A join would treat them as replaced, so versions write them again as conflicts (docs/documents.md, "Values
/// written again").
package struct DocumentRescue {
  private let directory: DocumentDirectory
  private let document: DocumentSnapshot
  private let keys: [(key: Key, ours: Entry?, lost: [DocumentSnapshot.Entry])]

  /// Nil if there are none, or if the version holds them.
  /// - Complexity: O(*d*) in the keys that differ, and what ``OwnWrites`` takes.
  package init?(
    _ comparison: DocumentComparison, at head: VersionNumber, in store: Store
  ) throws(StoreError) {
    let own = try OwnWrites(comparison, in: store)
    guard !own.formerAuthors.isEmpty else { return nil }
    directory = comparison.directory
    document = comparison.document
    let state = comparison.state
    let map = try store.map(at: head)
    var found: [Key: [DocumentSnapshot.Entry]] = [:]
    for (key, difference) in comparison.differences {
      for (value, entry) in difference.values
      where own.lost.contains(value.dot) && state.vector.covers(value.dot) {
        var isHeld = false
        for other in difference.live where !isHeld {
          isHeld = try Self.isSame(other, entry, at: key, document, store)
        }
        if !isHeld { found[key, default: []].append(entry) }
      }
    }
    for (key, difference) in comparison.differences {
      for value in difference.live
      where own.areMixed(with: value.dot) && comparison.vector.covers(value.dot) {
        if !difference.values.contains(where: { $0.value.dot == value.dot }), found[key] == nil {
          found[key] = []
        }
      }
    }
    var keys: [(key: Key, ours: Entry?, lost: [DocumentSnapshot.Entry])] = []
    for (key, lost) in found.sorted(by: { $0.key < $1.key }) {
      let ours = try map.entry(at: key)
      if let ours, ours.kind != .regular { continue }
      keys.append((key, ours, lost))
    }
    guard !keys.isEmpty else { return nil }
    self.keys = keys
  }

  private static func isSame(
    _ value: DocumentValue, _ entry: DocumentSnapshot.Entry, at key: Key,
    _ document: DocumentSnapshot, _ store: Store
  ) throws(StoreError) -> Bool {
    guard !value.isRemoval, entry.type != .null else {
      return value.isRemoval && entry.type == .null
    }
    guard let holder = value.holder, let file = try store.map(at: holder).entry(at: key) else {
      return false
    }
    return try store.contents.bytes(file.stored) == document.bytes(entry)
  }

  /// Adds a version with the store's value, and one for each further value of a key.
  package func add(
    to transaction: WriteTransaction, on head: VersionNumber, line: Branch?
  ) throws(StoreError) -> [VersionNumber] {
    var all: [(key: Key, values: [Entry?])] = []
    for (key, ours, lost) in keys {
      var values = [ours]
      for entry in lost { values.append(try file(of: entry, key, beside: ours, transaction)) }
      all.append((key, values))
    }
    return try transaction.addValues(all, on: try marked(head, transaction, line), line: line)
  }

  /// A version with a record that the directory has documents, because only such directories have conflicts.
  private func marked(
    _ head: VersionNumber, _ transaction: WriteTransaction, _ line: Branch?
  ) throws(StoreError) -> VersionNumber {
    let store = transaction.store
    guard try !store.documents.directories(at: head).contains(directory) else { return head }
    var metadata: Version.Metadata = [:]
    try DocumentRecord(directory: directory, layer: 0, application: nil, authors: [], items: [])
      .add(to: &metadata)
    let map = try store.map(at: head)
    return try transaction.add(
      AuthoredVersion(
        number: try transaction.reserveVersion(), first: head, base: map, map: map, line: line,
        metadata: metadata)
    ).number
  }

  private func file(
    of entry: DocumentSnapshot.Entry, _ key: Key, beside old: Entry?,
    _ transaction: WriteTransaction
  ) throws(StoreError) -> Entry? {
    guard entry.type != .null else { return nil }
    let bytes = try document.bytes(entry)
    var attributes = entry.type.attributes(
      on: old?.attributes ?? Attributes(), media: entry.media, bytes: bytes)
    attributes.mtime = Attributes.Time(milliseconds: entry.time)
    return Entry(
      key: key, kind: .regular, attributes: attributes, stored: try transaction.write(bytes),
      storedVersion: VersionNumber(0), revision: 0)
  }
}
