package import LLVSCore

/// A document beside a version: what either knows and the other does not.
package struct DocumentComparison {
  /// The directory of the document's values.
  package let directory: DocumentDirectory
  /// The values of the document.
  package let document: DocumentSnapshot
  /// The writes that the document knows.
  package let vector: DocumentVector
  /// The version as a document.
  package let state: DocumentState
  typealias Values = [Key: [(value: DocumentValue, entry: DocumentSnapshot.Entry)]]
  /// The document's values by the keys of their files.
  let values: Values
  private let store: Store

  /// Compares a document with a version; nil for a store without versions.
  package init(
    _ document: DocumentSnapshot, _ directory: DocumentDirectory, with head: VersionNumber?,
    in store: Store
  ) throws(StoreError) {
    self.directory = directory
    self.document = document
    self.store = store
    vector = document.vector
    values = document.values(in: directory)
    state =
      try head.map { head throws(StoreError) in
        try store.documents.state(of: directory, at: head)
      } ?? DocumentState()
  }

  // MARK: What must not be taken

  /// Returns why the document must be neither read nor written; nil if it may be. Data that has nothing
  /// in common is refused unless `isUnrelatedAllowed`.
  ///
  /// - Complexity: O(*n*) in the keys of both; where the document holds replaced values, also the versions
  ///   since they were written.
  package func problem(
    allowingUnrelated isUnrelatedAllowed: Bool = false
  ) throws(StoreError) -> DocumentProblem? {
    for entry in document.entries where !vector.covers(entry.dot) {
      return .unreadable(
        "an entry's number is above that of its author, so that the document is damaged")
    }
    if let problem = applicationProblem { return problem }
    let own = try OwnWrites(self, in: store)
    if own.haveThisName {
      return .unreadable(
        "the document holds what this store wrote and does not know: the machine was set back while the "
          + "store was open; \"llvs set replica=new\" gives the store another name, so that nothing is "
          + "taken for what it is not")
    }
    let lost = lostCount(besides: own)
    if lost > 0 {
      return .unreadable(
        "the document has no row for \(lost) \(lost == 1 ? "value" : "values") that it knows: "
          + "it was cut short, or another program removed the rows")
    }
    if !isUnrelatedAllowed, isUnrelated {
      return .unrelated(
        "the document and the directory hold values and have no author in common: "
          + "they are copies of different data")
    }
    return nil
  }

  private var applicationProblem: DocumentProblem? {
    guard let theirs = document.application, let ours = state.application,
      theirs.id != ours.id || theirs.major != ours.major
    else { return nil }
    func name(_ application: DocumentApplication) -> String {
      "\(String(decoding: application.id, as: UTF8.self)) \(application.major)"
    }
    return .unrelated(
      "the document belongs to \(name(theirs)), the directory to \(name(ours))")
  }

  /// Values of which the document knows, with neither them nor what replaced them in it.
  private func lostCount(besides own: OwnWrites) -> Int {
    var count = 0
    state.keys.forEach { key, known in
      guard values[key] == nil, directory.name(of: key) != nil else { return }
      let isLost = known.live.contains { value in
        !value.isRemoval && vector.covers(value.dot) && !own.areMixed(with: value.dot)
      }
      if isLost { count += 1 }
    }
    return count
  }

  private var isUnrelated: Bool {
    var hasCommon = false
    for author in document.authors where state.vector.usn(of: author.id) > 0 { hasCommon = true }
    guard !hasCommon, document.entries.contains(where: { $0.type != .null }) else { return false }
    var hasValues = false
    state.keys.forEach { key, known in
      if known.live.contains(where: { !$0.isRemoval }), directory.name(of: key) != nil {
        hasValues = true
      }
    }
    return hasValues
  }

  // MARK: What is new

  /// True if the document knows of something that the version does not.
  package var hasNews: Bool {
    if !state.vector.covers(vector) { return true }
    if document.application != nil, state.application == nil { return true }
    for key in values.keys where isChanged(key) { return true }
    var isChanged = false
    state.keys.forEach { key, _ in
      if !isChanged, values[key] == nil, self.isChanged(key) { isChanged = true }
    }
    return isChanged
  }

  private func isChanged(_ key: Key) -> Bool {
    let live = state.keys[key]?.live ?? []
    let joined = join(key, with: state)
    guard live.map(\.dot) != joined.map(\.dot) else { return false }
    // Which of several removals are kept makes no difference to anybody.
    return (live + joined).contains { !$0.isRemoval }
  }

  /// Returns what a join with the state of a version comes to at a key.
  func join(_ key: Key, with state: DocumentState) -> [DocumentValue] {
    DocumentState.join(
      state.keys[key]?.live ?? [], state.vector, (values[key] ?? []).map(\.value), vector)
  }
}
