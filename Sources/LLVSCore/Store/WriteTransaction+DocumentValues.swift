extension WriteTransaction {
  /// Adds versions that each write a value at keys of documents: the first has each key's first value, and so on.
  /// Values are written even if unchanged; nil is a removal.
  package func addValues(
    _ keys: [(key: Key, values: [Entry?])], on head: VersionNumber, line: Branch?
  ) throws(StoreError) -> [VersionNumber] {
    let count = keys.map(\.values.count).max() ?? 0
    guard let record = try version(head) else {
      throw .corrupt("there is no version number \(head.rawValue)")
    }
    let before = store.map(of: record)
    var made: [VersionNumber] = []
    for index in 0..<count {
      let number = try reserveVersion()
      let written = keys.filter { $0.values.count > index }
      var edits: [MapEdit] = []
      for (key, values) in written {
        let old = try before.entry(at: key)
        guard var new = values[index] else {
          if old != nil { edits.append(.remove(key, directory: false)) }
          continue
        }
        if Entry.isSameValue(old, new) { continue }
        new.storedVersion = number
        new.revision = try allotRevisions()
        edits.append(.put(new))
      }
      let draft = AuthoredVersion(
        number: number, first: head, base: before, map: try before.applying(edits: edits),
        line: line, message: nil,
        metadata: [.settled: Version.MetadataValue(keys: written.map(\.key))])
      made.append(try add(draft).number)
    }
    return made
  }
}
