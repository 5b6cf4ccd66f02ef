package import LLVSCore

/// The changes that make a document hold a version's values (docs/documents.md, "What is written to a document").
package struct DocumentExport {
  package struct Value {
    package var name: DocumentName
    package var value: DocumentValue
    package var file: Entry?
  }

  package struct Removal: Hashable {
    package var name: DocumentName
    package var dot: DocumentDot
  }

  /// The original's note that a write of an author was replaced.
  package struct Note: Hashable {
    package var name: DocumentName
    package var dot: DocumentDot
    package var deleting: DocumentDot
  }

  /// Authors that the document lacks, or knows only earlier writes of.
  package private(set) var authors: [(id: DocumentAuthor, name: [UInt8]?, usn: Int64)] = []
  package private(set) var values: [Value] = []
  package private(set) var removals: [Removal] = []
  package private(set) var notes: [Note] = []
  /// Nil if the document has it.
  package private(set) var application: DocumentApplication?
  /// The number of files that no document can hold, and the first path.
  package private(set) var skipped: (count: Int, first: [UInt8])?
  private var maps: [VersionNumber: ValueMap] = [:]
  /// Authors that the document does not get.
  private var untold: Set<DocumentAuthor> = []

  /// True if nothing must be written.
  package var isEmpty: Bool {
    authors.isEmpty && values.isEmpty && removals.isEmpty && application == nil
  }

  /// Compares a document with a version that knows everything in the document.
  /// - Complexity: O(*d* log *d*) in the keys that differ.
  package init(
    _ comparison: DocumentComparison, at head: VersionNumber, in store: Store
  ) throws(StoreError) {
    let state = comparison.state
    untold = state.untoldAuthors(to: comparison.vector)
    state.vector.authors.forEach { author, known in
      if comparison.vector.usn(of: author) < known.usn, !untold.contains(author) {
        authors.append((author, known.name, known.usn))
      }
    }
    authors.sort { $0.id < $1.id }
    if let mine = state.application, comparison.document.application == nil { application = mine }
    for (key, difference) in comparison.differences.sorted(by: { $0.key < $1.key }) {
      try compare(key, difference, comparison, store)
    }
    maps = [:]
    for key in comparison.differences.keys where comparison.directory.name(of: key) == nil {
      note(skipped: key, comparison, try store.map(at: head))
    }
  }

  private mutating func note(
    skipped key: Key, _ comparison: DocumentComparison, _ map: ValueMap
  ) {
    guard (try? map.entry(at: key)) != nil else { return }
    let path = comparison.directory.relativePath(of: key) ?? key.bytes
    skipped = ((skipped?.count ?? 0) + 1, skipped?.first ?? path)
  }

  private mutating func map(
    at number: VersionNumber, _ store: Store
  ) throws(StoreError) -> ValueMap {
    if let known = maps[number] { return known }
    let map = try store.map(at: number)
    maps[number] = map
    return map
  }

  private mutating func compare(
    _ key: Key, _ difference: DocumentComparison.Difference, _ comparison: DocumentComparison,
    _ store: Store
  ) throws(StoreError) {
    let live = difference.live
    let there = difference.values.map(\.value.dot)
    guard let name = comparison.directory.name(of: key) else {
      return
    }
    for dot in there where !live.contains(where: { $0.dot == dot }) {
      removals.append(Removal(name: name, dot: dot))
    }
    var missing = live.filter { !there.contains($0.dot) }
    missing.sort { DocumentValue.isBefore($0, $1) }
    for value in missing {
      var file: Entry?
      if !value.isRemoval {
        guard let holder = value.holder else {
          throw .corrupt("a value of \(key.rawValue) is in no version that is known here")
        }
        file = try map(at: holder, store).entry(at: key)?.documentFile
        if file == nil {
          throw .corrupt("a version does not hold the value of \(key.rawValue) that it names")
        }
      }
      values.append(Value(name: name, value: value, file: file))
    }
    guard let newest = missing.last ?? live.max(by: { DocumentValue.isBefore($0, $1) }) else {
      return
    }
    let authors = Set(difference.known?.authors ?? []).union(there.map(\.author))
    for author in authors.subtracting(untold).sorted()
    where !live.contains(where: { $0.dot.author == author }) {
      let usn = max(comparison.state.vector.usn(of: author), comparison.vector.usn(of: author))
      notes.append(
        Note(name: name, dot: DocumentDot(author: author, usn: usn), deleting: newest.dot))
    }
  }
}
