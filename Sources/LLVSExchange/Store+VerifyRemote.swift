package import LLVSCore

extension Store {
  /// Reads every version of a place, and compares those that both sides have (docs/merging.md, M2).
  /// The report's `remoteIDs` are the versions that can be read there with their ancestors, and are the same here.
  package func check(
    _ remote: some VersionSource, control: ExchangeControl = ExchangeControl()
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    var readable: [(id: Version.ID, predecessors: [Version.ID])] = []
    let ids = try remote.versionIDs().sorted()
    for (index, id) in ids.enumerated() {
      try control.check()
      control.report(.reading, index, of: ids.count)
      do throws(StoreError) {
        let theirs = try remote.version(id)
        if let reason = try fault(of: id, theirs, in: remote) {
          report.refused.append(ExchangeReport.Fault(id: id, reason: reason))
        } else {
          readable.append((id, theirs?.predecessors?.ids ?? []))
        }
      } catch .invalid(let reason) {
        report.refused.append(ExchangeReport.Fault(id: id, reason: reason))
      }
    }
    report.addReadable(readable, label: remote.label)
    return report
  }

  /// Returns what is wrong with a version of a place; one that is not here is only read.
  func fault(
    of id: Version.ID, _ theirs: Version?, in remote: some VersionSource
  ) throws(StoreError) -> String? {
    if let record = try version(id) { return try difference(of: record, theirs, from: remote) }
    guard theirs != nil, let changes = try remote.changes(of: id) else {
      return "\(remote.changesLabel(id)): it is not there"
    }
    try changes.read(into: DigestSink()) { _ in }
    return nil
  }

  /// Returns the versions up to a number that a send to a place with `known` would write.
  package func versionsToSend(
    upTo last: UInt32, without known: Set<Version.ID>, control: ExchangeControl
  ) throws(StoreError) -> [VersionRecord] {
    var records: [VersionRecord] = []
    for number in try versionsToSend(control, isThere: { known.contains($0.id) })
    where number.rawValue <= last {
      if let record = try version(number) { records.append(record) }
    }
    return records
  }

  private func difference(
    of record: VersionRecord, _ theirs: Version?, from remote: some VersionSource
  ) throws(StoreError) -> String? {
    guard let theirs else { return nil }
    if let difference = try difference(of: record, theirs, label: remote.label(record.id)) {
      return difference
    }
    return try differenceOfChanges(record, from: remote)
  }

  /// Returns how a description differs from that of a version here.
  func difference(
    of record: VersionRecord, _ theirs: Version, label name: String
  ) throws(StoreError) -> String? {
    let ours = try version(from: record)
    if let said = theirs.metadata[.digest] {
      let text = String(decoding: said.data.prefix(80), as: UTF8.self)
      guard text == "\"\(record.map.digest.hex)\"" else {
        return "\(name): its content is \(record.map.digest.hex) here and \(text) there"
      }
    }
    guard theirs.predecessors == ours.predecessors else {
      return "\(name): it has other predecessors there"
    }
    guard theirs.timestamp.bitPattern == ours.timestamp.bitPattern else {
      return "\(name): it has the time \(ours.timestamp) here and \(theirs.timestamp) there"
    }
    guard theirs.metadata == ours.metadata else { return "\(name): it has other metadata there" }
    return nil
  }

  private func differenceOfChanges(
    _ record: VersionRecord, from remote: some VersionSource
  ) throws(StoreError) -> String? {
    let name = remote.changesLabel(record.id)
    guard let changes = try remote.changes(of: record.id) else { return "\(name): it is not there" }
    let map = map(of: record)
    var (difference, keys): (String?, Set<Key>) = (nil, [])
    // The changes after the first difference are read as well, since they may be malformed.
    try changes.read(into: DigestSink()) { (change) throws(StoreError) in
      keys.insert(change.key)
      guard difference == nil else { return }
      let what = try self.difference(of: change, map, record, isSame: isSame)
      difference = what.map { "\(name): \($0)" }
    }
    // The changes of another version may all be right here, and are too few.
    try forEachChange(toSendOf: record) { (change) throws(StoreError) in
      guard difference == nil, !keys.contains(change.key) else { return }
      difference = "\(name): it lacks the change of \(change.key.rawValue)"
    }
    return difference
  }

  /// Returns false if a value in a place differs from the one here. If this store has forgotten the bytes of a long
  /// value, only the length is compared.
  private func isSame(
    _ stored: StoredContent, _ seen: DigestSink.Seen
  ) throws(StoreError) -> Bool {
    switch seen {
    case .absent(let length, let digest):
      return length == stored.length && digest == stored.digest
    case .bytes(let length, let digest):
      guard length == stored.length else { return false }
      let sink = DigestSink()
      do throws(StoreError) {
        try contents.forEachPiece(of: stored) { (piece) throws(StoreError) in sink.append(piece) }
      } catch {
        guard error.isForgotten else { throw error }
        return length > UInt64(ValueChunking.singleChunk) || digest == stored.digest
      }
      return sink.finish(at: nil) == seen
    }
  }

  /// Returns how a change differs from a version here; `isSame` compares a value here with one there.
  func difference<Value>(
    of change: WireChange<Value>, _ map: ValueMap, _ record: VersionRecord,
    isSame: (StoredContent, Value) throws(StoreError) -> Bool
  ) throws(StoreError) -> String? {
    let key = change.key
    let entry = try map.entry(at: key)
    switch change {
    case .remove, .preserveRemoval:
      guard entry == nil else { return "it removes \(key.rawValue) there" }
    case .preserve(_, let id):
      // A reference to a value that no predecessor had was stored by the version itself (docs/merging.md, M10).
      guard let entry,
        try self.id(of: entry.storedVersion) == id || entry.storedVersion == record.number
      else { return "\(key.rawValue) is another value there" }
    case .insert(_, let stored), .update(_, let stored):
      guard let entry else { return "it has \(key.rawValue) there, and not here" }
      guard try isSame(entry.stored, stored) else { return "\(key.rawValue) has other bytes there" }
    }
    return nil
  }
}

private final class DigestSink: WireValueSink {
  enum Seen: Equatable {
    /// The length and the SHA-256 of the bytes.
    case bytes(UInt64, Digest)
    /// The length and the digest of a value without bytes there.
    case absent(UInt64, Digest)
  }

  private var hasher = SHA256Hasher()
  private var length: UInt64 = 0

  func append(_ bytes: UnsafeRawBufferPointer) {
    hasher.update(bytes)
    length += UInt64(bytes.count)
  }

  func finish(at key: Key?) -> Seen {
    defer { (hasher, length) = (SHA256Hasher(), 0) }
    return .bytes(length, hasher.finish())
  }

  func absent(_ digest: Digest, length: UInt64) -> Seen {
    (hasher, self.length) = (SHA256Hasher(), 0)
    return .absent(length, digest)
  }
}
