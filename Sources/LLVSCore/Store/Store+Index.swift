internal import Synchronization

/// Which versions changed a key; catching the index up.
extension Store {
  /// The versions that stored the value's bytes or changed its attributes, oldest first.
  ///
  /// - Complexity: O(log *n*) for each.
  package func versions(changing key: Key) throws(StoreError) -> [VersionRecord] {
    var records: [VersionRecord] = []
    for number in try numbers(changing: key, upTo: state().lastNumber) {
      guard let record = try version(number), try changes(record, key) else { continue }
      records.append(record)
    }
    return records
  }

  /// The versions that may have changed a key, ascending.
  ///
  /// Those that the index does not know yet are among them all: a reader sees a version before the process
  /// that made it has written that down there.
  func numbers(
    changing key: Key, upTo last: UInt32
  ) throws(StoreError) -> [VersionNumber] {
    // Asked first: versions that come into the index meanwhile are looked at twice, not never.
    let known = try index.lastVersion()
    let numbers = try index.versions(changing: key).filter { $0.rawValue <= last }
    guard known < last else { return numbers }
    return numbers.filter { $0.rawValue <= known } + ((known + 1)...last).map { VersionNumber($0) }
  }

  /// Whether a version's map holds other content at a key than its first predecessor's.
  private func changes(_ record: VersionRecord, _ key: Key) throws(StoreError) -> Bool {
    let new = try map(of: record).entry(at: key)
    guard let first = record.first, let before = try version(first) else { return new != nil }
    let old = try map(of: before).entry(at: key)
    guard let old, let new else { return old != nil || new != nil }
    return old.storedVersion != new.storedVersion || !old.hasSameContent(as: new)
  }

  /// Keeps bytes under a name in the index, from where they may vanish: for what can be computed anew.
  package func note(_ name: String, _ bytes: [UInt8]) { index.note(name, bytes) }

  /// The bytes kept under a name in the index, if they are still there.
  package func noted(_ name: String) -> [UInt8]? { index.noted(name) }

  /// Brings into the index what a crash kept out of it.
  ///
  /// A version that is damaged is passed over, and named: who looks a key up does not learn that it
  /// changed there, and everything else goes on.
  func catchUpIndex() throws(StoreError) {
    let last = published.withLock { $0.lastNumber }
    var next = try index.lastVersion() + 1
    while next <= last {
      let number = VersionNumber(next)
      var keys: [Key] = []
      do throws(StoreError) {
        guard let record = try version(number) else {
          throw .corrupt("it is not in the catalog")
        }
        keys = try changedKeys(of: record)
      } catch {
        guard error.isDamage else { throw error }
        published.withLock {
          $0.mended.append(
            "version number \(next) is left out of index.sqlite: \(error.message)")
        }
      }
      index.note(chunks: [:], changes: [(number, keys)])
      next += 1
    }
  }

  /// The keys at which a version differs from its first predecessor, directories left out, and those
  /// whose conflicts it settles.
  func changedKeys(of record: VersionRecord) throws(StoreError) -> [Key] {
    let before = try record.first.map { number throws(StoreError) in try version(number) } ?? nil
    var keys: [Key] = []
    try ValueMap.diff(from: map(before?.map ?? .empty), to: map(of: record)) {
      (change) throws(StoreError) in
      if !change.isDirectory { keys.append(change.key) }
    }
    return keys + Version.settledKeys(try metadata(of: record))
  }
}
