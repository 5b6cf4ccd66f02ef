package import LLVSCore

/// Versions of a document's news, based on the newest version that the document knows, so that they merge as if
/// written there (docs/documents.md, "What is read from a document").
package struct DocumentImport {
  /// The values of one version; the second and later ones hold further values of the same keys.
  private typealias Layer = [(key: Key, value: DocumentValue)]

  private let comparison: DocumentComparison
  private let base: VersionNumber?
  private let layers: [Layer]
  private let items: [DocumentRecord.Item]
  private let authors: [DocumentRecord.Author]
  private let application: DocumentApplication?

  /// - Complexity: O(*d* log *d*) in the keys that differ, and the versions that the document does not know.
  package init(
    _ comparison: DocumentComparison, under head: VersionNumber?, in store: Store
  ) throws(StoreError) {
    self.comparison = comparison
    base = try head.map { head throws(StoreError) in
      try Self.base(of: comparison, under: head, in: store)
    }
    let directory = comparison.directory
    let state =
      try base.map { base throws(StoreError) in
        try store.documents.state(of: directory, at: base)
      } ?? DocumentState()
    // At other keys the document equals the head, and the head equals this version.
    var keys = Set(comparison.differences.keys)
    DocumentKeys.differences(comparison.state.keys, state.keys) { key, _, _ in keys.insert(key) }
    var layers: [Layer] = []
    var items: [DocumentRecord.Item] = []
    for key in keys.sorted() {
      let joined = comparison.join(key, with: state)
      guard joined.map(\.dot) != (state.keys[key]?.live ?? []).map(\.dot) else { continue }
      let ordered = joined.sorted { DocumentValue.isBefore($1, $0) }
      items.append(DocumentRecord.Item(key: key, values: ordered))
      for (index, value) in ordered.enumerated() {
        if index == layers.count { layers.append([]) }
        layers[index].append((key, value))
      }
    }
    // Knowledge about authors is news, too.
    self.layers = layers.isEmpty ? [[]] : layers
    self.items = items
    authors = comparison.document.authors.filter { state.vector.usn(of: $0.id) < $0.usn }
      .map { DocumentRecord.Author(id: $0.id, usn: $0.usn, name: $0.name) }
    application = state.application == nil ? comparison.document.application : nil
  }

  /// The newest version that the document knows, among a head and its ancestors; else the head.
  private static func base(
    of comparison: DocumentComparison, under head: VersionNumber, in store: Store
  ) throws(StoreError) -> VersionNumber {
    var open = [try store.graph.node(head)]
    var seen: Set<VersionNumber> = [head]
    while let index = open.indices.max(by: { HistoryNode.isOlder(open[$0], open[$1]) }) {
      let node = open.remove(at: index)
      let state = try store.documents.state(of: comparison.directory, at: node.number)
      if comparison.vector.covers(state.vector) { return node.number }
      let untold = state.untoldAuthors(to: comparison.vector)
      if !untold.isEmpty, comparison.vector.covers(state.vector, besides: untold) {
        return node.number
      }
      try node.forEachPredecessor { before throws(StoreError) in
        if seen.insert(before).inserted { open.append(try store.graph.node(before)) }
      }
    }
    return head
  }

  /// Adds the versions and returns them, the shown one first.
  package func add(
    to transaction: WriteTransaction, line: Branch?, message: String?
  ) throws(StoreError) -> [VersionNumber] {
    var base = self.base
    if base == nil {
      // Versions of separate empty stores merge only if they begin with an empty version.
      let number = try transaction.reserveVersion()
      let empty = transaction.store.map(.empty)
      base = try transaction.add(
        AuthoredVersion(number: number, first: nil, base: empty, map: empty, line: line)
      ).number
    }
    return try layers.enumerated().map { index, layer throws(StoreError) in
      try add(layer, index, on: base, to: transaction, line, message)
    }
  }

  private func add(
    _ layer: Layer, _ index: Int, on base: VersionNumber?, to transaction: WriteTransaction,
    _ line: Branch?, _ message: String?
  ) throws(StoreError) -> VersionNumber {
    let number = try transaction.reserveVersion()
    let record = try transaction.version(base)
    let before = transaction.store.map(of: record)
    var edits: [MapEdit] = []
    for (key, value) in layer {
      let old = try before.entry(at: key)
      // Only a regular file is a value of the document.
      if let old, old.kind != .regular { continue }
      if value.isRemoval {
        if old != nil { edits.append(.remove(key, directory: false)) }
        continue
      }
      guard let new = try entry(key, value, replacing: old, in: number, transaction) else {
        continue
      }
      if new != old { edits.append(.put(new)) }
    }
    var metadata: Version.Metadata = [:]
    try DocumentRecord(
      directory: comparison.directory, layer: index, application: application, authors: authors,
      items: items
    ).add(to: &metadata)
    let draft = AuthoredVersion(
      number: number, first: base, base: before, map: try before.applying(edits: edits), line: line,
      message: message, metadata: metadata)
    return try transaction.add(draft).number
  }

  private func entry(
    _ key: Key, _ value: DocumentValue, replacing old: Entry?, in number: VersionNumber,
    _ transaction: WriteTransaction
  ) throws(StoreError) -> Entry? {
    let source = comparison.values(at: key).first { $0.value.dot == value.dot }?.entry
    guard let source else {
      // The base version already knows the value.
      guard let holder = value.holder,
        let record = try transaction.version(holder),
        var held = try transaction.store.map(of: record).entry(at: key)
      else { throw .corrupt("a value of a document is in no version") }
      if let old, Entry.isSameValue(old, held) { return old }
      held.revision = try transaction.allotRevisions()
      held.storedVersion = number
      return held
    }
    let bytes = try comparison.document.bytes(source)
    var attributes = source.type.attributes(
      on: old?.attributes ?? Attributes(), media: source.media, bytes: bytes)
    attributes.mtime = Attributes.Time(milliseconds: value.time)
    let stored = try transaction.write(bytes)
    if let old, old.stored.digest == stored.digest, old.attributes == attributes { return old }
    return Entry(
      key: key, kind: .regular, attributes: attributes, stored: stored, storedVersion: number,
      revision: try transaction.allotRevisions())
  }
}

extension Attributes.Time {
  init(milliseconds: Int64) {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    self.init(
      seconds: rest < 0 ? seconds - 1 : seconds,
      nanoseconds: UInt32((rest < 0 ? rest + 1000 : rest) * 1_000_000))
  }
}
