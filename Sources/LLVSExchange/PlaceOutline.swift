package import LLVSCore

/// The ids and predecessors of the versions in a place, read before any is stored permanently.
package struct PlaceOutline {
  private struct Entry {
    var predecessors: [Version.ID]
    var timestamp: Double
    var line: Branch?
    var storesBytes: Bool
  }

  /// True if a version there is in the store, or is based on one; then the others are not examined.
  package var isShared = false
  private var entries: [Version.ID: Entry] = [:]
  package init() {}

  fileprivate mutating func add(_ version: Version) {
    entries[version.id] = Entry(
      predecessors: version.predecessors?.ids ?? [], timestamp: version.timestamp,
      line: version.line, storesBytes: version.valueDataSize ?? 0 > 0)
  }

  package mutating func add(_ other: PlaceOutline) {
    isShared = isShared || other.isShared
    entries.merge(other.entries) { mine, _ in mine }
  }

  /// Returns the newest version of a line whose roots are unknown here and not empty, so it merges with nothing.
  package func stranger(onLine line: Branch?) -> Version.ID? {
    guard !isShared else { return nil }
    let own = entries.filter { $0.value.line == line }
    let newest = own.max {
      ($0.value.timestamp, $0.key.rawValue) < ($1.value.timestamp, $1.key.rawValue)
    }
    guard let newest = newest?.key else { return nil }
    var visited: Set<Version.ID> = [newest]
    var open = [newest]
    var holdsBytes = false
    while let id = open.popLast() {
      guard let entry = entries[id] else { return nil }
      if entry.predecessors.isEmpty, entry.storesBytes { holdsBytes = true }
      for id in entry.predecessors where visited.insert(id).inserted { open.append(id) }
    }
    return holdsBytes ? newest : nil
  }

  /// Returns the version that an id, its name, or a unique prefix of at least four bytes denotes.
  package func version(meant word: String) -> Version.ID? {
    if entries[Version.ID(word)] != nil { return Version.ID(word) }
    guard word.utf8.count >= 4 else { return nil }
    let found = entries.filter { (id, entry) in
      if id.rawValue.hasPrefix(word) { return true }
      let time = VersionName.text(VersionName.milliseconds(entry.timestamp))
      return "\(time)-\(String(decoding: VersionName.escaped(id), as: UTF8.self))".hasPrefix(word)
    }
    return found.count == 1 ? found.first?.key : nil
  }
}

extension Store {
  /// Returns an outline of a place; reads only its list if a version is in the store.
  /// - Throws: ``StoreError/unreachable(_:)``, ``StoreError/cancelled``, or an error of this store.
  package func outline(
    of source: some VersionSource, control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    var outline = PlaceOutline()
    let ids = try source.versionIDs()
    if try unknown(ids, control).count < ids.count {
      outline.isShared = true
      return outline
    }
    var start = 0
    while start < ids.count {
      let part = Array(ids[start..<min(start + 1024, ids.count)])
      control.report(.reading, start, of: ids.count)
      let read = try Threads.map(part.count, width: source.requests) {
        (index) throws(StoreError) -> Version? in
        try control.check()
        do throws(StoreError) {
          return try source.version(part[index])
        } catch .invalid {
          return nil  // It is reported when it is to be stored.
        }
      }
      for case let version? in read {
        for id in version.predecessors?.ids ?? [] where try self.version(id) != nil {
          outline.isShared = true
          return outline
        }
        outline.add(version)
      }
      start += part.count
    }
    return outline
  }
}
