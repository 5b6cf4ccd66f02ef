import LLVSCore
internal import Platform

/// INVARIANT I1: a version is added whole and checked, or not at all; nothing refers to records
///   that were stored before a fault was found.
/// - Concurrency: used by its transaction's thread.
final class VersionInstaller {
  let transaction: WriteTransaction
  private let store: Store
  private let sink: TransactionSink
  private let absentKeys: AbsentKeys
  /// A number that was reserved for a refused version; numbers have no gaps.
  private var spare: VersionNumber?

  init(_ transaction: WriteTransaction) throws(StoreError) {
    self.transaction = transaction
    store = transaction.store
    sink = TransactionSink(transaction)
    absentKeys = try AbsentKeys(transaction)
  }

  /// Adds a version whose predecessors are in the store; `digest` is the content digest next to it.
  /// - Throws: ``StoreError/invalid(_:)`` for a fault of the version, or an error of this store or the other side.
  func install(
    _ version: Version, changes source: some ChangeSource, digest: Digest?, label: String
  ) throws(StoreError) -> VersionNumber {
    try sink.reset(label)
    let predecessors = try (version.predecessors?.ids ?? []).map { id throws(StoreError) in
      guard let record = try transaction.version(id) else {
        throw StoreError.attemptToAddVersionWithNonexistingPredecessors(id)
      }
      return record
    }
    let number: VersionNumber
    if let spare { number = spare } else { number = try transaction.reserveVersion() }
    spare = number
    sink.base = predecessors.first.map { store.map(of: $0) }
    let changes = try read(source)
    do throws(StoreError) {
      try add(version, number, predecessors, changes, digest)
    } catch .invalid(let reason) {
      throw .invalid("\(label): \(reason)")
    }
    spare = nil
    return number
  }

  private func add(
    _ version: Version, _ number: VersionNumber, _ predecessors: [VersionRecord],
    _ changes: [Key: Change], _ digest: Digest?
  ) throws(StoreError) {
    let base = store.map(predecessors.first?.map ?? .empty)
    var recorded: [RecordedChange]?
    let map: ValueMap
    let keys: [Key]
    if predecessors.count == 2 {
      let resolved = try resolve(changes, predecessors, number)
      recorded = resolved.recorded
      let merged = try transaction.merger.follow(
        resolved.changes, first: HistoryNode(predecessors[0]),
        second: HistoryNode(predecessors[1]), options: options(number),
        writingTo: transaction.nodes
      ).map
      let edits = try IncomingEdits(self, [:], version.metadata, over: merged, number)
      map = try merged.applying { () throws(StoreError) in try edits.next() }
      keys = try changedKeys(base, map)
    } else {
      let edits = try IncomingEdits(self, changes, version.metadata, over: base, number)
      map = try base.applying { () throws(StoreError) in try edits.next() }
      // Each edit makes a difference, since a new entry has a revision of its own.
      keys = edits.keys
      // Otherwise malloc would keep this memory for the next version as large.
      if edits.extendedLength >= 16 << 20 { SystemMemory.trim() }
    }
    if let digest, digest != map.contentDigest {
      throw .invalid("its content has the digest \(map.contentDigest.hex), not \(digest.hex)")
    }
    try add(
      version, number, predecessors, base: base, map: map, recorded: recorded, changedKeys: keys)
  }

  private func options(_ number: VersionNumber) -> Merger.Options {
    Merger.Options(
      arbiter: MostRecentChangeClashArbiter(graph: store.graph), number: number
    ) { [transaction] () throws(StoreError) in try transaction.allotRevisions() }
  }

  typealias Change = WireChange<StoredContent>

  /// Returns the changes by key; the last for a key counts, as in the original.
  private func read(_ source: some ChangeSource) throws(StoreError) -> [Key: Change] {
    var changes: [Key: Change] = [:]
    try source.read(into: sink) { changes[$0.key] = $0 }
    return changes
  }

  /// Returns the edit that a change makes in a map; nil for none.
  func edit(
    of change: Change, over base: ValueMap, _ number: VersionNumber
  ) throws(StoreError) -> MapEdit? {
    let key = change.key
    let old = try base.entry(at: key)
    switch change {
    case .insert(_, let stored), .update(_, let stored):
      return .put(try entry(key, stored, replacing: old, number))
    case .remove, .preserveRemoval:
      return old == nil ? nil : .remove(key, directory: false)
    case .preserve(_, let id):
      let source = try referred(key, id)
      // If the key lacks the value, this version stores the bytes again (docs/merging.md, M10).
      if let old, old.storedVersion == source.storedVersion { return nil }
      return .put(try entry(key, source.stored, replacing: old, number))
    }
  }

  private func entry(
    _ key: Key, _ stored: StoredContent, replacing old: Entry?, _ number: VersionNumber
  ) throws(StoreError) -> Entry {
    var attributes = old?.attributes ?? Attributes()
    // The bytes come without a time (docs/merging.md, M14).
    attributes.mtime = nil
    attributes.device = nil
    let kind = old?.kind == .symlink ? EntryKind.symlink : .regular
    return Entry(
      key: key, kind: kind, attributes: attributes, stored: stored, storedVersion: number,
      revision: try transaction.allotRevisions())
  }

  private func referred(_ key: Key, _ id: Version.ID) throws(StoreError) -> Entry {
    if let record = try transaction.version(id),
      let entry = try store.map(of: record).entry(at: key), entry.storedVersion == record.number
    {
      return entry
    }
    throw .invalid("it preserves \(key.rawValue) of version \(id.rawValue), which has none")
  }

  /// Returns the changes of a merge, as merging follows them and as they are recorded for sending.
  private func resolve(
    _ changes: [Key: Change], _ predecessors: [VersionRecord], _ number: VersionNumber
  ) throws(StoreError) -> (changes: [Key: RecordedMergeChange], recorded: [RecordedChange]) {
    let first = store.map(of: predecessors[0])
    let second = store.map(of: predecessors[1])
    var resolved: [Key: RecordedMergeChange] = [:]
    var recorded: [RecordedChange] = []
    for key in changes.keys.sorted() {
      guard let change = changes[key] else { continue }
      let old = try first.entry(at: key)
      switch change {
      case .insert(_, let stored), .update(_, let stored):
        resolved[key] = .value(stored, kind: nil, storedBy: number)
        recorded.append(old == nil ? .insert(key) : .update(key))
      case .remove:
        resolved[key] = .removal
        recorded.append(.remove(key))
      case .preserveRemoval:
        resolved[key] = .removal
        recorded.append(.preserveRemoval(key))
      case .preserve(_, let id):
        let stored = try transaction.version(id)?.number
        let other = try second.entry(at: key)
        let held = [other, old].compactMap(\.self).first { $0.storedVersion == stored }
        if let held {
          resolved[key] = .value(held.stored, kind: held.kind, storedBy: held.storedVersion)
          recorded.append(.preserve(key, storedVersion: id))
        } else {
          let source = try referred(key, id)
          resolved[key] = .value(source.stored, kind: nil, storedBy: number)
          recorded.append(old == nil ? .insert(key) : .update(key))
        }
      }
    }
    return (resolved, recorded)
  }

  private func add(
    _ version: Version, _ number: VersionNumber, _ predecessors: [VersionRecord],
    base: ValueMap, map: ValueMap, recorded: [RecordedChange]?, changedKeys: [Key]
  ) throws(StoreError) {
    let digest = map.contentDigest
    var flags: VersionRecord.Flags = []
    if let said = version.metadata[.digest] {
      let text = String(decoding: said.data, as: UTF8.self)
      guard text == "\"\(digest.hex)\"" else {
        throw .invalid("its content has the digest \(digest.hex), it says \(text.prefix(80))")
      }
    } else {
      flags.insert(.hasNoDigest)
    }
    if isAutomatic(version, digest) {
      guard version.timestamp == predecessors.map(\.timestamp).max() else {
        throw .invalid("it is an automatic merge with a time of its own")
      }
      flags.insert(.automatic)
    }
    if digest == base.contentDigest { flags.insert(.changedNothing) }
    let stored = try recorded.map { list throws(StoreError) in
      try transaction.write(ChangeList.encode(list))
    }
    try transaction.add(
      NewVersion(
        number: number, id: version.id, first: predecessors.first?.number,
        second: predecessors.dropFirst().first?.number, timestamp: version.timestamp,
        line: Version.line(version.metadata)?.rawValue ?? VersionRecord.unnamedLine,
        flags: flags, metadata: version.metadata, map: map.root, changes: stored,
        valueDataSize: version.valueDataSize, changedKeys: changedKeys))
    try absentKeys.note(number, after: predecessors.first?.number, changing: changedKeys, map)
  }

  /// Returns true for the id of an automatic version (docs/merging.md, M3); metadata counts unpacked.
  private func isAutomatic(_ version: Version, _ digest: Digest) -> Bool {
    guard version.id.mayBeAutomatic, let predecessors = version.predecessors,
      predecessors.idOfSecond.map({ predecessors.idOfFirst < $0 }) ?? true
    else { return false }
    let metadata = Version.metadataDigest(version.metadata) { key, bytes in
      guard AttributeList.isFrame(key) else { return bytes }
      return AttributeList.unpack(Version.MetadataValue(data: bytes)) ?? bytes
    }
    return version.id
      == .automaticMerge(
        first: predecessors.idOfFirst, second: predecessors.idOfSecond, contentDigest: digest,
        metadataDigest: metadata)
  }

  private func changedKeys(_ base: ValueMap, _ map: ValueMap) throws(StoreError) -> [Key] {
    var keys: [Key] = []
    var diff = try MapDiff(from: base, to: map)
    while let change = try diff.next() {
      if keys.last != change.key { keys.append(change.key) }
    }
    return keys
  }
}
