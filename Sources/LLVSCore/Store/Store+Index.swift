internal import Synchronization

extension Store {
  /// Returns the versions that stored the value's bytes or changed its attributes, oldest first.
  package func versions(changing key: Key) throws(StoreError) -> [VersionRecord] {
    var records: [VersionRecord] = []
    for number in try numbers(changing: key, upTo: state().lastNumber) {
      guard let record = try version(number), try changes(record, key) else { continue }
      records.append(record)
    }
    return records
  }

  /// Returns the versions that may have changed a key, ascending, with all that the index lacks: a reader may see a
  /// version before its maker has written the index.
  func numbers(changing key: Key, upTo last: UInt32) throws(StoreError) -> [VersionNumber] {
    // Read first: versions that are indexed concurrently are then examined twice, not missed.
    let known = try index.lastVersion()
    let numbers = try index.versions(changing: key).filter { $0.rawValue <= last }
    guard known < last else { return numbers }
    return numbers.filter { $0.rawValue <= known } + ((known + 1)...last).map { VersionNumber($0) }
  }

  /// Returns true if a version's entry at a key differs from its first predecessor's.
  private func changes(_ record: VersionRecord, _ key: Key) throws(StoreError) -> Bool {
    let new = try map(of: record).entry(at: key)
    guard let first = record.first, let before = try version(first) else { return new != nil }
    let old = try map(of: before).entry(at: key)
    guard let old, let new else { return old != nil || new != nil }
    return old.storedVersion != new.storedVersion || !old.hasSameContent(as: new)
  }

  /// Keeps bytes under a name in the index, which may lose them.
  package func note(_ name: String, _ bytes: [UInt8]) { index.keep(name, bytes) }
  package func noted(_ name: String) -> [UInt8]? { index.kept(name) }

  /// Adds to the index what a crash kept out of it; skips and reports damaged versions.
  func catchUpIndex() throws(StoreError) {
    let last = published.withLock { $0.lastNumber }
    var next = try index.lastVersion() + 1
    while next <= last {
      let number = VersionNumber(next)
      var keys: [Key] = []
      do throws(StoreError) {
        guard let record = try version(number) else { throw .corrupt("it is not in the catalog") }
        keys = try changedKeys(of: record)
      } catch {
        guard error.isDamage else { throw error }
        published.withLock {
          $0.mended.append(
            "version number \(next) is left out of index.sqlite: \(error.message)")
        }
      }
      index.add(chunks: [:], changes: [(number, keys)])
      next += 1
    }
  }

  /// Returns the keys at which a version differs from its first predecessor, and those that it settles.
  func changedKeys(of record: VersionRecord) throws(StoreError) -> [Key] {
    let before = try record.first.map { number throws(StoreError) in try version(number) } ?? nil
    var keys: [Key] = []
    try ValueMap.diff(from: map(before?.map ?? .empty), to: map(of: record)) {
      (change) throws(StoreError) in
      if !change.isDirectory { keys.append(change.key) }
    }
    return keys + Version.namedKeys(try metadata(of: record))
  }
}
