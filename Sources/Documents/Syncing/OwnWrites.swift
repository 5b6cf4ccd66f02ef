import LLVSCore

/// The writes in a document by a writer of this store that no version of the store has.
///
/// A machine that is set back under a running mount keeps its name. A join would treat the lost writes as replaced
/// by the new ones, which have greater numbers.
struct OwnWrites {
  private(set) var lost: Set<DocumentDot> = []
  /// True if some of them have the store's present name.
  private(set) var haveThisName = false
  /// Authors of former names of the store, each with the least number of their writes.
  private(set) var formerAuthors: [DocumentAuthor: Int64] = [:]

  /// - Complexity: O(*d*) in the keys that differ; if the document has writes that the version replaced or lacks,
  ///   also O(the versions since the oldest of them).
  init(_ comparison: DocumentComparison, in store: Store) throws(StoreError) {
    let doubtful = Self.doubtful(comparison)
    guard !doubtful.isEmpty else { return }
    let vector = comparison.state.vector
    var sought = Set(doubtful.map(\.usn))
    for author in Set(doubtful.map(\.author)) { sought.insert(vector.usn(of: author)) }
    let found = try Self.versions(of: sought, in: store)
    let former = try Set(store.formerReplicaIDs())
    for dot in doubtful where found[dot.usn] == nil {
      let last = DocumentDot(author: dot.author, usn: vector.usn(of: dot.author))
      guard let number = found[last.usn],
        let replica = try Self.replica(of: last, number, comparison.directory, store)
      else { continue }
      if replica == store.replicaID {
        haveThisName = true
      } else if former.contains(replica) {
        formerAuthors[dot.author] = min(formerAuthors[dot.author] ?? .max, dot.usn)
      } else {
        continue
      }
      lost.insert(dot)
    }
  }

  /// True if a write of a known version is indistinguishable from lost ones, because the vector covers both.
  func areMixed(with dot: DocumentDot) -> Bool {
    formerAuthors[dot.author].map { dot.usn >= $0 } ?? false
  }

  /// The writes by authors of versions that the version does not hold.
  private static func doubtful(_ comparison: DocumentComparison) -> Set<DocumentDot> {
    let state = comparison.state
    var dots: Set<DocumentDot> = []
    for difference in comparison.differences.values {
      for (value, _) in difference.values
      where !difference.live.contains(where: { $0.dot == value.dot }) {
        dots.insert(value.dot)
      }
    }
    for author in comparison.document.authors where author.usn > state.vector.usn(of: author.id) {
      dots.insert(DocumentDot(author: author.id, usn: author.usn))
    }
    return dots.filter { $0.author.isOfWriter && state.vector.usn(of: $0.author) > 0 }
  }

  private static func versions(
    of usns: Set<Int64>, in store: Store
  ) throws(StoreError) -> [Int64: VersionNumber] {
    let generations = Set(usns.map { $0 >> 24 })
    var found: [Int64: VersionNumber] = [:]
    var number = try store.state().lastNumber
    while number > 0, found.count < usns.count {
      defer { number -= 1 }
      let node = try store.graph.node(VersionNumber(number))
      guard generations.contains(Int64(node.generation)) else { continue }
      let usn = DocumentDot.usn(of: node)
      if usns.contains(usn) { found[usn] = node.number }
    }
    return found
  }

  private static func replica(
    of dot: DocumentDot, _ number: VersionNumber, _ directory: DocumentDirectory, _ store: Store
  ) throws(StoreError) -> String? {
    let metadata = try store.metadata(ofVersion: number)
    let writer: String? = metadata[.writer].flatMap { $0.value() }
    let node = try store.graph.node(number)
    guard let writer, DocumentDot(of: node, writer: writer, in: directory) == dot else {
      return nil
    }
    return writer.split(separator: ".").first.map(String.init)
  }
}
