import LLVSCore
import TreeNames
import WorkingTree

// `history/PATH/V`: the distinct revisions of one value, each named after the version that first had it.
//
// A path has revisions if a value had it in any version, and names below it if a directory had it. A component that
// is a version's name, possibly after `%llvs%`, is shown with one more `%llvs%` before it.

extension MetaTree {
  func historyChild(of path: [UInt8], named name: [UInt8]) throws(FSError) -> Found? {
    if let version = try version(called: name) {
      guard !path.isEmpty else { return nil }
      snapshots.remember(version)
      let view = try snapshots.snapshot(version.number).view
      let found = try FSError.translating(try view.find(path: path))
      guard case .value(let entry)? = found else { return nil }
      return Self.found(try linked(entry, in: view), in: version.number)
    }
    let component = try historyComponent(named: name)
    guard let component, name != ReservedName.bytes else { return nil }
    let child = joined(path, component)
    guard try hasHistory(child) else { return nil }
    return Found(.history(path: child))
  }

  private func version(called name: [UInt8]) throws(FSError) -> VersionRecord? {
    guard let text = String(validating: name, as: UTF8.self) else { return nil }
    return try FSError.translating(try store.version(named: text))
  }

  private func isVersionName(_ name: [UInt8]) throws(FSError) -> Bool {
    var rest = name[...]
    while rest.starts(with: DisplacedName.prefix) {
      rest = rest.dropFirst(DisplacedName.prefix.count)
    }
    return try version(called: Array(rest)) != nil
  }

  func historyName(of component: [UInt8]) throws(FSError) -> [UInt8] {
    try isVersionName(component) ? DisplacedName.prefix + component : component
  }

  private func historyComponent(named name: [UInt8]) throws(FSError) -> [UInt8]? {
    guard name.starts(with: DisplacedName.prefix), try isVersionName(name) else { return name }
    return Array(name.dropFirst(DisplacedName.prefix.count))
  }

  private func historyKey(_ path: [UInt8]) throws(StoreError) -> Key {
    let view = live.shownBase
    guard case .value(let entry)? = try view.find(path: path) else {
      return KeyCoding.key(ofPath: path)
    }
    return entry.key
  }

  /// True if a version ever had a file at or below a path.
  /// - Complexity: O(log *n*) if the head or the index of revisions has the path, else a look-up in each version
  ///   back to the last one that had it.
  private func hasHistory(_ path: [UInt8]) throws(FSError) -> Bool {
    try FSError.wrapping { () throws(StoreError) in
      let view = live.shownBase
      if try view.find(path: path) != nil { return true }
      if try !store.versions(changing: KeyCoding.key(ofPath: path)).isEmpty { return true }
      var before = UInt32.max
      var last: MapRoot?
      while true {
        let page = try store.versionLines(before: before, limit: 256)
        guard let end = page.last else { return false }
        for line in page where line.map != last {
          last = line.map
          if case .directory? = try TreeView(map: store.map(line.map)).find(path: path) {
            return true
          }
        }
        before = end.number.rawValue
      }
    }
  }

  /// Returns the versions that changed the value at a path, oldest first.
  func revisionVersions(of path: [UInt8]) throws(FSError) -> [VersionRecord] {
    try FSError.translating(try store.versions(changing: historyKey(path)))
  }

  /// Returns the distinct revisions of the value at a path that kept versions have, oldest first.
  func revisions(at path: [UInt8]) throws(FSError) -> [(name: [UInt8], entry: Entry)] {
    guard !path.isEmpty else { return [] }
    let all = try FSError.wrapping { () throws(StoreError) in
      let key = try historyKey(path)
      let versions = try store.keptVersions(changing: key)
      var found: [(VersionRecord, Entry)] = []
      for record in versions {
        guard let entry = try store.map(of: record).entry(at: key), !entry.isDirectory else {
          continue
        }
        found.append((record, entry))
      }
      return found
    }
    var found: [(name: [UInt8], entry: Entry)] = []
    var seen: Set<UInt64> = []
    for (record, own) in all {
      let entry = try linked(own, in: TreeView(map: store.map(of: record)))
      if seen.insert(entry.revision).inserted { found.append((Array(record.name.utf8), entry)) }
    }
    return found
  }
}
