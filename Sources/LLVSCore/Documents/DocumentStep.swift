/// Computes the state of one version from its predecessors' (docs/documents.md, "A version as a document").
struct DocumentStep {
  let source: any DocumentVersions
  let directory: DocumentDirectory
  let node: HistoryNode

  /// The state of a version with one predecessor, or none.
  func continued(_ before: DocumentState) throws(StoreError) -> DocumentState {
    let metadata = try source.metadata(ofVersion: node.number)
    if node.knowsDocuments, let record = DocumentRecord(metadata), record.directory == directory {
      return imported(record, before)
    }
    var state = before
    let map = try source.valueMap(ofVersion: node.number)
    let old = try node.first.map { first throws(StoreError) in
      try source.valueMap(ofVersion: first)
    }
    let base = old ?? ValueMap(emptyIn: map.storage, cache: map.cache)
    var written: [Key: Entry?] = [:]
    try forEachChange(from: base, to: map) { change in
      let (old, new) = (change.old?.documentFile, change.new?.documentFile)
      if !Entry.isSameValue(old, new) { written[change.key] = .some(new) }
    }
    for key in Version.settledKeys(metadata) where written[key] == nil {
      guard directory.contains(key), state.keys[key] != nil else { continue }
      written[key] = .some(try map.entry(at: key)?.documentFile)
    }
    guard !written.isEmpty else { return state }
    let dot = DocumentDot(of: node, writer: writer(metadata), in: directory)
    state.vector.add(dot, isOneVersion: writer(metadata) == nil)
    for (key, entry) in written {
      var known = state.keys[key] ?? DocumentKeyState(live: [], held: nil, authors: [])
      known.live = [value(dot, entry)]
      known.held = dot
      known.note([dot.author])
      state.set(key, known)
    }
    return state
  }

  private func value(_ dot: DocumentDot, _ entry: Entry?) -> DocumentValue {
    var time = Int64(((node.timestamp + 978_307_200) * 1000).rounded(.down))
    if let mtime = entry?.attributes.mtime {
      let (thousands, overflow) = mtime.seconds.multipliedReportingOverflow(by: 1000)
      time = overflow ? time : thousands + Int64(mtime.nanoseconds / 1_000_000)
    }
    return DocumentValue(dot: dot, holder: node.number, isRemoval: entry == nil, time: time)
  }

  private func writer(_ metadata: Version.Metadata) -> String? {
    metadata[.writer].flatMap { $0.value() }
  }

  private func forEachChange(
    from old: ValueMap, to new: ValueMap, _ body: (MapChange) throws(StoreError) -> Void
  ) throws(StoreError) {
    for prefix in directory.prefixes {
      try ValueMap.diff(from: old, to: new, prefix: prefix) { change throws(StoreError) in
        guard !change.isDirectory, directory.contains(change.key) else { return }
        try body(change)
      }
    }
  }

  private func imported(_ record: DocumentRecord, _ before: DocumentState) -> DocumentState {
    var state = before
    state.isImported = true
    state.application = record.application ?? state.application
    for author in record.authors where author.usn > 0 {
      state.vector.add(
        author.id, DocumentVector.Knowledge(usn: author.usn, name: author.name))
    }
    var states: [Key: DocumentKeyState] = [:]
    states.reserveCapacity(record.items.count)
    for item in record.items where directory.contains(item.key) {
      var known =
        states[item.key] ?? before.keys[item.key]
        ?? DocumentKeyState(live: [], held: nil, authors: [])
      known.note(item.values.map(\.dot.author))
      var live: [DocumentValue] = []
      for (index, value) in item.values.enumerated() {
        var value = known.live.first { $0.dot == value.dot } ?? value
        if index == record.layer {
          value.holder = node.number
          known.held = value.dot
        }
        live.append(value)
      }
      known.live = live.count > 1 ? live.sorted { $0.dot < $1.dot } : live
      states[item.key] = known
    }
    for (key, known) in states { state.set(key, known) }
    return state
  }

  /// The state of a merge: the join of both, and the merge's own writes.
  func merged(_ first: DocumentState, _ second: DocumentState) throws(StoreError) -> DocumentState {
    let metadata = try source.metadata(ofVersion: node.number)
    guard let firstNumber = node.first, let secondNumber = node.second else { return first }
    let maps = Maps(
      first: try source.valueMap(ofVersion: firstNumber),
      second: try source.valueMap(ofVersion: secondNumber),
      merged: try source.valueMap(ofVersion: node.number))
    var state = first
    state.vector.formUnion(second.vector)
    state.isImported = first.isImported || second.isImported
    state.application = first.application ?? second.application
    let settled = Set(Version.settledKeys(metadata).filter { directory.contains($0) })
    let dot = DocumentDot(of: node, writer: writer(metadata), in: directory)
    var hasWritten = false
    var seen: Set<Key> = []
    func join(_ key: Key) throws(StoreError) {
      guard seen.insert(key).inserted else { return }
      let (a, b) = (first.keys[key], second.keys[key])
      let live = DocumentState.join(a?.live ?? [], first.vector, b?.live ?? [], second.vector)
      var known = a ?? DocumentKeyState(live: [], held: nil, authors: [])
      known.note(b?.authors ?? [])
      known.live = live
      let entry = try maps.merged.entry(at: key)?.documentFile
      if !settled.contains(key),
        let held = try held(key, entry, live, maps, first: a?.held, second: b?.held)
      {
        known.held = held.dot
      } else {
        hasWritten = true
        let value = value(dot, entry)
        known.held = dot
        known.note([dot.author])
        known.live =
          settled.contains(key)
          ? [value]
          : (live.filter { $0.dot != a?.held && $0.dot != b?.held } + [value])
            .sorted { $0.dot < $1.dot }
      }
      state.set(key, known)
    }
    try DocumentKeys.differences(
      first.keys, second.keys,
      throwing: { key, a, b throws(StoreError) in if a != b { try join(key) } })
    try forEachChange(from: maps.first, to: maps.merged) { change throws(StoreError) in
      try join(change.key)
    }
    for key in settled { try join(key) }
    if hasWritten { state.vector.add(dot, isOneVersion: writer(metadata) == nil) }
    return state
  }

  private struct Maps {
    let first: ValueMap
    let second: ValueMap
    let merged: ValueMap
  }

  private struct Held { var dot: DocumentDot? }

  /// The write of the merge's value at a key; nil if the merge wrote it itself.
  private func held(
    _ key: Key, _ entry: Entry?, _ live: [DocumentValue], _ maps: Maps,
    first: DocumentDot?, second: DocumentDot?
  ) throws(StoreError) -> Held? {
    let isFirst = Entry.isSameValue(entry, try maps.first.entry(at: key)?.documentFile)
    let isSecond = Entry.isSameValue(entry, try maps.second.entry(at: key)?.documentFile)
    if isFirst, let first, live.contains(where: { $0.dot == first }) { return Held(dot: first) }
    if isSecond, let second, live.contains(where: { $0.dot == second }) { return Held(dot: second) }
    for value in live {
      guard let holder = value.holder else { continue }
      if value.isRemoval {
        if entry == nil { return Held(dot: value.dot) }
      } else if let entry {
        let other = try source.valueMap(ofVersion: holder).entry(at: key)?.documentFile
        if Entry.isSameValue(entry, other) { return Held(dot: value.dot) }
      }
    }
    if entry == nil, live.isEmpty { return Held(dot: nil) }
    // An automatic version contains no writes by people.
    if node.isAutomatic {
      if isFirst, first != nil { return Held(dot: first) }
      if isSecond, second != nil { return Held(dot: second) }
    }
    return nil
  }
}

extension Entry {
  /// The entry if it can be a value of a document; nil unless it is a regular file.
  package var documentFile: Entry? { kind == .regular ? self : nil }

  private static let typeNames = [Array("user.kv.type".utf8), Array("user.mime_type".utf8)]

  private var typeAttributes: [Attributes.Extended] {
    attributes.extended.filter { Self.typeNames.contains($0.name) }
  }

  /// Returns true if two files are one value to a document: bytes, type and media type are the same.
  package static func isSameValue(_ a: Entry?, _ b: Entry?) -> Bool {
    switch (a, b) {
    case (nil, nil): true
    case (let a?, let b?):
      a.stored.digest == b.stored.digest && a.stored.length == b.stored.length
        && a.typeAttributes == b.typeAttributes
    default: false
    }
  }
}
