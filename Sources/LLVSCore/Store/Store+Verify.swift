internal import Platform

package struct VerifyReport: Sendable {
  /// One sentence without its period for each fault.
  package internal(set) var damage: [String] = []
  package internal(set) var versions = 0
  /// The number of checked entries of maps; an entry that versions share counts once.
  package internal(set) var entries = 0
  package internal(set) var bytes: UInt64 = 0
  /// The number of values with bytes that this store has forgotten.
  package internal(set) var forgotten = 0

  package var isSound: Bool { damage.isEmpty }
}

extension Store {
  /// Checks everything that any version holds: each record's checksum, each chunk's and node's hash, each map's
  /// digest against the version's own, and the catalog's inner consistency.
  ///
  /// It reports damage and continues. Other processes may read and write concurrently. `progress` gets the bytes of
  /// checked records and of all segments; false cancels.
  package func verify(
    progress: @escaping (_ done: UInt64, _ total: UInt64) -> Bool = { _, _ in true }
  ) throws(StoreError) -> VerifyReport {
    let length = try statistics().segmentBytes
    var verifier = Verifier(store: self) { (done) throws(StoreError) in
      guard progress(min(done, length), length) else { throw .cancelled }
    }
    try verifier.verifyCatalog()
    // The index is read before the catalog, because another process may write concurrently.
    let indexed = index.newestVersion(after: try state().lastNumber)
    let total = Int(try state().lastNumber)
    if let indexed, indexed > total, let lost = Store.lostVersions(index, UInt32(total)) {
      verifier.report.damage.append(lost)
    }
    for number in 1...max(1, total) where total > 0 {
      let record: VersionRecord
      do throws(StoreError) {
        guard let found = try version(VersionNumber(UInt32(number))) else {
          throw .corrupt("version number \(number) is missing")
        }
        record = found
      } catch {
        verifier.report.damage.append("version number \(number): \(error)")
        continue
      }
      try verifier.verify(record)
    }
    if let live = try state().headMap { try verifier.verify(live, called: "the live tree") }
    _ = progress(length, length)
    return verifier.report
  }

  // The treatment of a damaged log of the catalog, before SQLite opens it (``CatalogLog``).

  /// Repairs a damaged log, in a copy of the databases if this process must not change the store, and returns
  /// sentences about the damage.
  ///
  /// A reader must not even open a damaged log in place: the last process to close a database empties its log, and
  /// everything behind the damage would be lost.
  static func examinedLog(
    of path: String, mode: AccessMode, canWrite: Bool
  ) throws(StoreError) -> (copy: ReadableCopy?, faults: [String]) {
    do throws(SystemError) {
      if mode == .writer {
        let found = try CatalogLog.examine(path)
        try CatalogLog.mend(found, in: path)
        return (nil, found.words)
      }
      // A writer has examined the log when it opened the store, and has written to it since.
      let (isPaused, lock) = canWrite ? try isPaused(path) : (true, nil)
      defer { withExtendedLifetime(lock) {} }
      guard isPaused else { return (nil, []) }
      if canWrite, try CatalogLog.examine(path).isSound { return (nil, []) }
    } catch {
      throw .system(error)
    }
    let copy = try ReadableCopy(of: path, ReadableCopy.databases)
    return try StoreError.wrapping { () throws(SystemError) in
      let found = try CatalogLog.examine(copy.path)
      try CatalogLog.mend(found, in: copy.path)
      return (copy, found.words)
    }
  }

  /// False if another process writes to the store; none can open it while the file is open.
  private static func isPaused(_ path: String) throws(SystemError) -> (Bool, lock: File?) {
    guard try FileSystem.exists("\(path)/lock") else { return (true, nil) }
    let lock = try File.regular("\(path)/lock", .read)
    return (try lock.lock(.shared), lock)
  }

  /// Returns a sentence about versions that the index knows and the catalog lacks; nil if there are none. The index
  /// has only committed versions, so the catalog has lost them: a part of its log, or of a copied store's, is
  /// missing.
  static func lostVersions(_ index: Index, _ last: UInt32) -> String? {
    guard let known = index.newestVersion(after: last) else { return nil }
    return "store.sqlite ends with version number \(last), and index.sqlite knows number \(known): "
      + "the versions between were committed and are lost"
  }
}

/// Checks maps and values, each record once.
private struct Verifier {
  let store: Store
  var report = VerifyReport()
  private var checkedNodes: Set<Location> = []
  private var checkedValues: Set<Location> = []
  /// The length of the checked records.
  private var length: UInt64 = 0
  /// Throws if the check is cancelled.
  private let progress: (_ done: UInt64) throws(StoreError) -> Void

  init(store: Store, progress: @escaping (_ done: UInt64) throws(StoreError) -> Void) {
    self.store = store
    self.progress = progress
  }

  mutating func verifyCatalog() throws(StoreError) {
    report.damage += try store.state().mended
    let lines = try store.catalog.readView { (database) throws(StoreError) in
      try database.integrityCheck() + database.damagedRows()
    }
    for line in lines { report.damage.append("store.sqlite: \(line)") }
  }

  mutating func verify(_ record: VersionRecord) throws(StoreError) {
    try progress(length)
    report.versions += 1
    let name = "version \(record.name)"
    do throws(StoreError) {
      let metadata = try store.metadata(of: record)
      if let text: String = metadata[.digest]?.value(), text != record.map.digest.hex {
        report.damage.append("\(name): its content is \(record.map.digest.hex), it says \(text)")
      }
      if let changes = record.changes {
        guard ChangeList.decode(try store.contents.bytes(changes)) != nil else {
          throw .corrupt("its change list cannot be read")
        }
      }
    } catch {
      report.damage.append("\(name): \(error.message)")
    }
    try verify(record.map, called: name)
  }

  mutating func verify(_ root: MapRoot, called name: String) throws(StoreError) {
    var (nodes, values, report, length) = (checkedNodes, checkedValues, report, length)
    let progress = progress
    // Moved, not copied, because the sets may be large.
    (checkedNodes, checkedValues) = ([], [])
    do throws(StoreError) {
      try store.map(root).verify(seen: &nodes) { (entry) throws(StoreError) in
        report.entries += 1
        do throws(StoreError) {
          try store.contents.verify(entry.stored, seen: &values) {
            (record, bytes) throws(StoreError) in
            report.bytes += bytes
            length += UInt64(record?.length ?? 0)
            try progress(length)
          }
        } catch {
          if case .cancelled = error { throw error }
          if error.isForgotten {
            report.forgotten += 1
            return
          }
          report.damage.append("\(name), \(entry.key.rawValue): \(error.message)")
        }
      }
    } catch {
      if case .cancelled = error { throw error }
      report.damage.append("\(name): \(error.message)")
    }
    (checkedNodes, checkedValues, self.report, self.length) = (nodes, values, report, length)
  }
}

extension StoreError {
  /// True if something in the store is damaged or unreadable.
  package var isDamage: Bool {
    switch self {
    case .corrupt, .rebuildable: true
    case .system(let error):
      [Errno.inputOutput, Errno.isDirectory, Errno.tooManySymlinks].contains(error.errno)
    default: false
    }
  }

  /// The error of reading a value that this store never got.
  static func absent(_ stored: StoredContent) -> StoreError {
    .forgotten("\(stored.length) bytes of an old version are asked for, which this store never got")
  }

  /// True if bytes are asked for that the store has forgotten or never got.
  package var isForgotten: Bool { if case .forgotten = self { true } else { false } }

  /// The message of the case; for a case without one, its name.
  package var message: String {
    switch self {
    case .corrupt(let text), .rebuildable(let text), .invalid(let text), .notFound(let text),
      .forgotten(let text):
      text
    case .system(let error): error.description
    default: "\(self)"
    }
  }
}

extension ContentStore {
  /// Reads a value from the disk and compares it with its digest; parts in `seen` were checked before. `read` gets the
  /// number of bytes of each part, and its record if it has one.
  func verify(
    _ stored: StoredContent, seen: inout Set<Location>,
    read: (_ record: Location?, _ bytes: UInt64) throws(StoreError) -> Void
  ) throws(StoreError) {
    switch stored.content {
    case .none:
      if stored.isAbsent { throw .absent(stored) }
      guard stored.digest == .ofNothing else {
        throw .corrupt("an empty value does not match its digest")
      }
    case .inline(let inline):
      guard UInt64(inline.count) == stored.length, Digest.of(inline) == stored.digest else {
        throw .corrupt("its bytes do not match their digest")
      }
      try read(nil, stored.length)
    case .chunk(let location):
      guard seen.insert(location).inserted else { return }
      try verifyChunk(location, stored.length, stored.digest, read)
    case .tree(let location):
      guard seen.insert(location).inserted else { return }
      let top = try readNode(location)
      guard top.length == stored.length,
        Digest.ofValue(length: stored.length, top: top.digest) == stored.digest
      else { throw records.damage(location, "does not match the value's digest") }
      try verify(top, &seen, read)
    }
  }

  private func verify(
    _ node: ValueNode, _ seen: inout Set<Location>,
    _ read: (_ record: Location?, _ bytes: UInt64) throws(StoreError) -> Void
  ) throws(StoreError) {
    for item in node.items {
      guard let location = item.location, let digest = item.digest,
        seen.insert(location).inserted
      else { continue }
      if item.kind == .chunk {
        try verifyChunk(location, item.length, digest, read)
        continue
      }
      let child = try readNode(location)
      guard child.level + 1 == node.level, child.length == item.length, child.digest == digest,
        item.zeros == nil || child.zeros == nil || item.zeros == child.zeros
      else { throw records.damage(location, "does not match what its parent says") }
      try verify(child, &seen, read)
    }
  }

  private func verifyChunk(
    _ location: Location, _ length: UInt64, _ digest: Digest,
    _ read: (_ record: Location?, _ bytes: UInt64) throws(StoreError) -> Void
  ) throws(StoreError) {
    // The disk is to be checked, not the cache.
    let raw: [UInt8]
    do throws(StoreError) {
      raw = try records.read(.chunk, at: location)
    } catch {
      if error.isDamage { remember(unreadable: digest, at: location) }
      throw error
    }
    try read(location, UInt64(raw.count))
    guard UInt64(raw.count) == length, Digest.of(raw) == digest else {
      throw records.damage(location, "does not match its SHA-256")
    }
  }

  private func readNode(_ location: Location) throws(StoreError) -> ValueNode {
    guard let node = ValueNode(bytes: try records.read(.valueNode, at: location)) else {
      throw records.damage(location, "is not a node of a value")
    }
    return node
  }
}
