/// Conflicts at the keys of documents (docs/merging.md, M12): all values not replaced, except the tree's own.
extension Store {
  package var documents: DocumentStates {
    DocumentStates(source: history, cache: history.documentStates)
  }

  /// The directories with imported documents in a version or its ancestors.
  package func documentDirectories(
    at number: VersionNumber
  ) throws(StoreError) -> [DocumentDirectory] {
    guard try graph.node(number).knowsDocuments else { return [] }
    return try documents.directories(at: number).sorted()
  }

  func documentConflicts(
    at head: VersionNumber, in directories: [DocumentDirectory],
    where isWanted: (Key) -> Bool = { _ in true }
  ) throws(StoreError) -> [ValueConflict] {
    var found: [ValueConflict] = []
    for directory in directories {
      let state = try documents.state(of: directory, at: head)
      try state.contested.forEach { key, _ throws(StoreError) in
        guard isWanted(key), let known = state.keys[key],
          let conflict = try documentConflict(key, known, at: head)
        else { return }
        found.append(conflict)
      }
    }
    return found.sorted { $0.key < $1.key }
  }

  /// The conflicts at keys of documents that are open at one version and not at another, ascending.
  package func documentConflicts(
    openAt number: VersionNumber, notAt other: VersionNumber
  ) throws(StoreError) -> [ValueConflict] {
    func open(_ number: VersionNumber) throws(StoreError) -> [ValueConflict] {
      try documentConflicts(at: number, in: try documentDirectories(at: number))
    }
    let closed = Set(try open(other).map(\.key))
    return try open(number).filter { !closed.contains($0.key) }
  }

  private func documentConflict(
    _ key: Key, _ known: DocumentKeyState, at head: VersionNumber
  ) throws(StoreError) -> ValueConflict? {
    let ours = try history.valueMap(ofVersion: head).entry(at: key)?.documentFile
    var theirs: [ValueConflict.Revision] = []
    var kept: HistoryNode?
    for value in known.live.sorted(by: { DocumentValue.isBefore($1, $0) }) {
      // Until the version that holds the value is merged, the value belongs to that version.
      guard let holder = value.holder else { continue }
      let node = try graph.node(holder)
      if value.dot == known.held { kept = node }
      let entry =
        value.isRemoval ? nil : try history.valueMap(ofVersion: holder).entry(at: key)?.documentFile
      guard value.isRemoval || entry != nil, !Entry.isSameValue(entry, ours),
        !theirs.contains(where: { Entry.isSameValue($0.entry, entry) })
      else { continue }
      theirs.append(ValueConflict.Revision(version: node, entry: entry))
    }
    guard !theirs.isEmpty else { return nil }
    return ValueConflict(key: key, base: nil, ours: ours, kept: kept, theirs: theirs)
  }
}
