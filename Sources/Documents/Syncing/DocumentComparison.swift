package import LLVSCore

/// A comparison of a document and a version: the writes that only one of them knows.
package struct DocumentComparison {
  package let directory: DocumentDirectory
  package let document: DocumentSnapshot
  package let vector: DocumentVector
  package let state: DocumentState
  typealias Values = [(value: DocumentValue, entry: DocumentSnapshot.Entry)]
  struct Difference {
    var values: Values
    var known: DocumentKeyState?
    var live: [DocumentValue] { known?.live ?? [] }
  }
  /// The keys where the document and the version hold different writes.
  let differences: [Key: Difference]
  private let hasUncoveredEntry: Bool
  private let store: Store

  /// Compares a document with a version, or with a store that has none.
  /// - Complexity: O(*n*) in the keys of the document, and the changes of versions without a state in memory.
  package init(
    _ document: DocumentSnapshot, _ directory: DocumentDirectory, with head: VersionNumber?,
    in store: Store
  ) throws(StoreError) {
    self.directory = directory
    self.document = document
    self.store = store
    vector = document.vector
    state = try Self.state(of: directory, at: head, in: store)
    var pass = Pass(directory: directory, state: state, vector: vector)
    pass.go(through: document.entries)
    pass.addMissing(in: document.entries)
    differences = pass.differences
    hasUncoveredEntry = pass.hasUncoveredEntry
  }

  /// Compares an earlier comparison's document, whose values `bytes` reads, with another version.
  /// - Complexity: O(*d* log *n*) in the keys at which the versions differ, and the earlier differences.
  package init(
    _ earlier: Remembered, with head: VersionNumber?, in store: Store,
    bytes: @escaping (DocumentSnapshot.Entry) throws(StoreError) -> [UInt8]
  ) throws(StoreError) {
    directory = earlier.directory
    document = DocumentSnapshot(
      authors: earlier.authors, entries: earlier.entries, application: earlier.application,
      bytes: bytes)
    self.store = store
    vector = document.vector
    hasUncoveredEntry = earlier.hasUncoveredEntry
    state = try Self.state(of: directory, at: head, in: store)
    var keys = Set(earlier.differences.keys)
    DocumentKeys.differences(earlier.state.keys, state.keys) { key, _, _ in keys.insert(key) }
    var differences: [Key: Difference] = [:]
    for key in keys {
      let values = earlier.differences[key] ?? document.values(at: key, in: directory)
      let known = state.keys[key]
      if Self.differ(values.lazy.map(\.value.dot), known) {
        differences[key] = Difference(values: values, known: known)
      }
    }
    self.differences = differences
  }

  /// A comparison without the document's values, for comparing the same rows with another version.
  package struct Remembered: Sendable {
    fileprivate let directory: DocumentDirectory
    fileprivate let authors: [DocumentSnapshot.Author]
    fileprivate let entries: [DocumentSnapshot.Entry]
    fileprivate let application: DocumentApplication?
    fileprivate let state: DocumentState
    fileprivate let differences: [Key: Values]
    fileprivate let hasUncoveredEntry: Bool
  }

  package var remembered: Remembered {
    Remembered(
      directory: directory, authors: document.authors, entries: document.entries,
      application: document.application, state: state,
      differences: differences.mapValues(\.values),
      hasUncoveredEntry: hasUncoveredEntry)
  }

  private static func state(
    of directory: DocumentDirectory, at head: VersionNumber?, in store: Store
  ) throws(StoreError) -> DocumentState {
    guard let head else { return DocumentState() }
    return try store.documents.state(of: directory, at: head)
  }

  func values(at key: Key) -> Values {
    differences[key]?.values ?? document.values(at: key, in: directory)
  }

  private static func differ(
    _ dots: some Collection<DocumentDot>, _ known: DocumentKeyState?
  ) -> Bool {
    let live = known?.live ?? []
    return dots.count != live.count
      || dots.contains { dot in !live.contains { $0.dot == dot } }
  }

  /// One walk through the rows of a document and the state of a version.
  private struct Pass {
    let directory: DocumentDirectory
    let state: DocumentState
    let vector: DocumentVector
    var differences: [Key: Difference] = [:]
    var hasUncoveredEntry = false
    var commonKeys = 0
    var lastAuthor: (id: DocumentAuthor, usn: Int64)?

    mutating func go(through entries: [DocumentSnapshot.Entry]) {
      var start = entries.startIndex
      while start < entries.endIndex {
        let name = entries[start].name
        var end = start
        while end < entries.endIndex, end == start || entries[end].name == name {
          check(entries[end].dot)
          end += 1
        }
        let key = directory.key(of: name)
        let known = state.keys[key]
        if known != nil { commonKeys += 1 }
        let values = entries[start..<end]
        if DocumentComparison.differ(values.lazy.map(\.dot), known) {
          differences[key] = Difference(values: values.map { ($0.value, $0) }, known: known)
        }
        start = end
      }
    }

    private mutating func check(_ dot: DocumentDot) {
      if lastAuthor?.id != dot.author { lastAuthor = (dot.author, vector.usn(of: dot.author)) }
      if lastAuthor.map({ $0.usn < dot.usn }) ?? true { hasUncoveredEntry = true }
    }

    /// Adds the keys that only the version has.
    mutating func addMissing(in entries: [DocumentSnapshot.Entry]) {
      guard commonKeys < state.keys.count else { return }
      let there = Set(entries.map { directory.key(of: $0.name) })
      differences.reserveCapacity(differences.count + state.keys.count - commonKeys)
      state.keys.forEach { key, known in
        if !known.live.isEmpty, !there.contains(key) {
          differences[key] = Difference(values: [], known: known)
        }
      }
    }
  }

  /// Returns why the document must be neither read nor written.
  /// - Complexity: O(*n*) in the keys of both; if the document has replaced values, also the versions since their
  ///   writes.
  package func problem(
    allowingUnrelated isUnrelatedAllowed: Bool = false
  ) throws(StoreError) -> DocumentProblem? {
    if hasUncoveredEntry {
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
    return !isUnrelatedAllowed && isUnrelated ? .noCommonAuthor : nil
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

  /// The number of values that the document knows, without a row for them or their successors.
  private func lostCount(besides own: OwnWrites) -> Int {
    var count = 0
    for (key, difference) in differences where difference.values.isEmpty {
      let isLost = difference.live.contains { value in
        !value.isRemoval && vector.covers(value.dot) && !own.areMixed(with: value.dot)
      }
      if isLost, directory.name(of: key) != nil { count += 1 }
    }
    return count
  }

  private var isUnrelated: Bool {
    let hasCommon = document.authors.contains { state.vector.usn(of: $0.id) > 0 }
    guard !hasCommon, document.entries.contains(where: { $0.type != .null }) else { return false }
    var hasValues = false
    state.keys.forEach { key, known in
      if known.live.contains(where: { !$0.isRemoval }), directory.name(of: key) != nil {
        hasValues = true
      }
    }
    return hasValues
  }

  /// True if the document has writes that the version does not know.
  package var hasNews: Bool {
    if !state.vector.covers(vector) { return true }
    if document.application != nil, state.application == nil { return true }
    return differences.values.contains { isChanged($0) }
  }

  private func isChanged(_ difference: Difference) -> Bool {
    let live = difference.live
    let joined = DocumentState.join(
      live, state.vector, difference.values.map(\.value), vector)
    guard live.map(\.dot) != joined.map(\.dot) else { return false }
    // It makes no difference which of several removals are kept.
    return (live + joined).contains { !$0.isRemoval }
  }

  /// The values of a key in the join with the state of a version.
  func join(_ key: Key, with state: DocumentState) -> [DocumentValue] {
    DocumentState.join(
      state.keys[key]?.live ?? [], state.vector, values(at: key).map(\.value), vector)
  }
}

extension DocumentSnapshot {
  fileprivate func values(
    at key: Key, in directory: DocumentDirectory
  ) -> DocumentComparison.Values {
    guard let name = directory.name(of: key) else { return [] }
    return entries(named: name).map { ($0.value, $0) }
  }
}
