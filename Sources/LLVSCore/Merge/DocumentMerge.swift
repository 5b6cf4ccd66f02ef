/// The rules at documents' keys (docs/merging.md, M8, M9): a replaced value never wins over its successor.
struct DocumentMerge {
  struct Sides {
    let directory: DocumentDirectory
    let first: DocumentState
    let second: DocumentState
  }

  enum Rule {
    /// This side's value was not replaced, and the other's was.
    case take(MergeSide)
    /// Both sides' values were replaced, by this content.
    case content(StoredContent)
    /// Neither was replaced: the merge decides by the usual rules.
    case clash(Clash)
  }

  /// Two values that were not replaced.
  struct Clash {
    /// True if bytes of both may be merged: neither side is one of several values already.
    var mayMergeContent: Bool
    /// The time of a side's write by its document, in seconds since 2001-01-01 UTC.
    var firstTime: Double?
    var secondTime: Double?
  }

  let sides: [Sides]
  let source: any DocumentVersions

  /// The rule at a key; nil outside of documents' directories, and if no document wrote the key here.
  func rule(at key: Key) throws(StoreError) -> Rule? {
    guard let sides = sides.first(where: { $0.directory.contains(key) }) else { return nil }
    let (a, b) = (sides.first.keys[key], sides.second.keys[key])
    guard a != nil || b != nil else { return nil }
    let live = DocumentState.join(
      a?.live ?? [], sides.first.vector, b?.live ?? [], sides.second.vector)
    func value(_ held: DocumentDot?) -> DocumentValue? {
      held.flatMap { held in live.first { $0.dot == held } }
    }
    switch (value(a?.held), value(b?.held)) {
    case (let x?, let y?):
      return .clash(
        Clash(
          mayMergeContent: a?.live.count == 1 && b?.live.count == 1, firstTime: x.importedAt,
          secondTime: y.importedAt))
    case (_?, nil): return .take(.first)
    case (nil, _?): return .take(.second)
    case (nil, nil):
      guard let winner = live.max(by: { DocumentValue.isBefore($0, $1) }), !winner.isRemoval,
        let holder = winner.holder,
        let entry = try source.valueMap(ofVersion: holder).entry(at: key)?.documentFile
      else { return nil }
      return .content(entry.stored)
    }
  }
}

extension DocumentValue {
  /// The time of the write by its document, in seconds since 2001-01-01 UTC; nil for a version's write.
  fileprivate var importedAt: Double? { type == nil ? nil : Double(time) / 1000 - 978_307_200 }
}

extension DocumentStates {
  /// The rules for merging two versions; nil if no document was ever imported into either.
  func merge(of first: HistoryNode, _ second: HistoryNode) throws(StoreError) -> DocumentMerge? {
    guard first.knowsDocuments || second.knowsDocuments else { return nil }
    let all = try directories(at: first.number).union(directories(at: second.number))
    var sides: [DocumentMerge.Sides] = []
    for directory in all.sorted() {
      sides.append(
        DocumentMerge.Sides(
          directory: directory, first: try state(of: directory, at: first.number),
          second: try state(of: directory, at: second.number)))
    }
    return DocumentMerge(sides: sides, source: source)
  }
}
