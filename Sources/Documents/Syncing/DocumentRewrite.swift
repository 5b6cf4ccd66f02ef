package import LLVSCore

/// The values that a version must write again although no program changed them: values that a merge of the original
/// restored, equal values, and values of too many authors (docs/documents.md, "Values written again").
package struct DocumentRewrite {
  /// Each key with the values to write, the version's own first.
  private let keys: [(key: Key, values: [Entry?])]
  /// True if the document would otherwise have too many authors.
  package let savesAuthors: Bool

  /// Finds the keys for a version that knows everything in the document; nil if there are none. `mayRewrite`
  /// returns true to write a key that a merge restored.
  /// - Complexity: O(*d*) in the keys that differ, and those with several values.
  package init?(
    _ comparison: DocumentComparison, at head: VersionNumber, in store: Store,
    mayRewrite: (Key) -> Bool = { _ in true }
  ) throws(StoreError) {
    let state = comparison.state
    var found: Set<Key> = []
    for (key, difference) in comparison.differences {
      let live = difference.live
      let hasValue = live.contains { !$0.isRemoval }
      let isBroughtBack = difference.values.contains { value, _ in
        !live.contains { $0.dot == value.dot } && (hasValue || !value.isRemoval)
      }
      if isBroughtBack, live.allSatisfy({ comparison.vector.covers($0.dot) }), mayRewrite(key) {
        found.insert(key)
      }
    }
    let ofManyAuthors = try Self.ofManyAuthors(comparison, in: store)
    found.formUnion(ofManyAuthors)
    savesAuthors = !ofManyAuthors.isEmpty
    var contested: [Key] = []
    state.contested.forEach { key, _ in contested.append(key) }
    let map = try store.map(at: head)
    var keys: [(key: Key, values: [Entry?])] = []
    for key in found.union(contested).sorted() where comparison.directory.name(of: key) != nil {
      let live = state.keys[key]?.live ?? []
      let ours = try map.entry(at: key)
      if let ours, ours.kind != .regular { continue }
      var values: [Entry?] = []
      var isKnown = true
      for value in live.sorted(by: { DocumentValue.isBefore($1, $0) }) {
        guard let holder = value.holder else {
          isKnown = false
          break
        }
        let entry = value.isRemoval ? nil : try store.map(at: holder).entry(at: key)
        if !values.contains(where: { Entry.isSameValue($0, entry) }) { values.append(entry) }
      }
      guard isKnown else { continue }
      let areEqual = live.count > 1 && values.count == 1 && values.first.map { $0 != nil } == true
      guard found.contains(key) || areEqual else { continue }
      if let index = values.firstIndex(where: { Entry.isSameValue($0, ours) }) {
        values.swapAt(0, index)
      }
      if values.isEmpty { values = [ours] }
      keys.append((key, values))
    }
    guard !keys.isEmpty else { return nil }
    self.keys = keys
  }

  /// The keys whose values are new to the document and come from versions without a writer, if too many. Each such
  /// version is an author; a version that rewrites all has one.
  private static func ofManyAuthors(
    _ comparison: DocumentComparison, in store: Store
  ) throws(StoreError) -> Set<Key> {
    var hasWriter: [VersionNumber: Bool] = [:]
    var keys: Set<Key> = []
    for (key, difference) in comparison.differences {
      for value in difference.live {
        // An imported value has an author of its own.
        guard value.type == nil, let holder = value.holder,
          comparison.vector.usn(of: value.dot.author) == 0
        else { continue }
        let isNamed: Bool
        if let known = hasWriter[holder] {
          isNamed = known
        } else {
          isNamed = try store.metadata(ofVersion: holder)[.writer] != nil
          hasWriter[holder] = isNamed
        }
        if !isNamed { keys.insert(key) }
      }
    }
    return hasWriter.values.count { !$0 } > DocumentState.mostReplacedVersions ? keys : []
  }

  /// Adds a version for each of several values of a key, so that they stay several.
  package func add(
    to transaction: WriteTransaction, on head: VersionNumber, line: Branch?
  ) throws(StoreError) -> [VersionNumber] {
    try transaction.addValues(keys, on: head, line: line)
  }
}

extension Store {
  func map(at number: VersionNumber) throws(StoreError) -> ValueMap {
    guard let record = try version(number) else {
      throw .corrupt("there is no version number \(number.rawValue)")
    }
    return map(of: record)
  }
}
