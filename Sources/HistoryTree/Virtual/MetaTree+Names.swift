import LLVSCore
import TreeNames
import WorkingTree

/// The names in `.llvs` of the working tree, in the order of its listing.
enum MetaName: String, CaseIterable {
  case readme = "README"
  case control
  case status
  case statusJSON = "status.json"
  case log
  case head
  case heads
  case branches
  case tags
  case versions
  case at
  case history
  case conflicts
  case search
  case peers
  case ignore
  var bytes: [UInt8] { Array(rawValue.utf8) }

  private static let all = Dictionary(
    uniqueKeysWithValues: allCases.map { (Array($0.rawValue.utf8), $0) })

  init?(_ name: [UInt8]) {
    guard let found = Self.all[name] else { return nil }
    self = found
  }
}

extension MetaTree {
  private static let information = Array("info".utf8)
  private static let changeList = Array("changes".utf8)
  private static let parentList = Array("parents".utf8)

  func child(of directory: MetaNode, named name: [UInt8]) throws(FSError) -> Found? {
    switch directory.content {
    case .meta(let root): return try metaChild(of: root, named: name)
    case .heads, .branches, .tags, .versions, .times:
      return try versionChild(of: directory, named: name)
    case .peers: return try peerFiles.find(name).map { Found(.writable($0)) }
    case .history(let path): return try historyChild(of: path, named: name)
    case .conflicts(let path): return try conflictChild(of: path, named: name)
    case .search(let path): return try searchChild(of: path, named: name)
    case .found(let words, let path): return try foundChild(words, below: path, named: name)
    case .directory(let number, let path, let base):
      return try snapshotChild(number, path, base, named: name)
    case .snapshotMeta(let number, let path, let base):
      switch name {
      case Self.information: return Found(.info(number, path: path))
      case Self.changeList: return Found(.changes(number, path: path))
      case Self.parentList: return Found(.parents(number, path: path, base: base))
      default: return nil
      }
    case .parents(let number, let path, let base):
      let targets = try parentTargets(number, path, base)
      guard let text = String(validating: name, as: UTF8.self), let index = Int(text),
        String(index) == text, index >= 1, index <= targets.count
      else { return nil }
      return Found(.link(target: targets[index - 1]))
    default: throw .notDirectory
    }
  }

  private func metaChild(of root: UInt64, named name: [UInt8]) throws(FSError) -> Found? {
    guard let known = MetaName(name) else {
      return try ignoreFiles.find(name).map { Found(.writable($0)) }
    }
    return try metaChild(of: root, known)
  }

  func metaChild(of root: UInt64, _ name: MetaName) throws(FSError) -> Found? {
    switch name {
    case .readme: return Found(.readme)
    case .control: return Found(.control)
    case .status: return Found(.status)
    case .statusJSON: return Found(.statusJSON)
    case .log: return Found(.log)
    case .head:
      guard let head = try headRecord() else { return nil }
      return Found(.link(target: Array("versions/\(head.name)".utf8)))
    case .heads: return Found(.heads)
    case .branches: return Found(.branches)
    case .tags: return Found(.tags)
    case .versions: return Found(.versions)
    case .at: return Found(.times)
    case .peers: return Found(.peers)
    case .ignore: return try ignoreFiles.find(name.bytes).map { Found(.writable($0)) }
    case .history: return live.path(of: root).map { Found(.history(path: $0)) }
    case .conflicts: return live.path(of: root).map { Found(.conflicts(path: $0)) }
    case .search: return live.path(of: root).map { Found(.search(directory: $0)) }
    }
  }

  func headRecord() throws(FSError) -> VersionRecord? {
    guard let number = live.shownHead else { return nil }
    return try snapshots.snapshot(number).record
  }

  func headLine() throws(FSError) -> Branch? {
    guard let record = try headRecord(), record.line != VersionRecord.unnamedLine else {
      return nil
    }
    return Branch(rawValue: record.line)
  }

  private func snapshotChild(
    _ number: VersionNumber, _ path: [UInt8], _ base: Int, named name: [UInt8]
  ) throws(FSError) -> Found? {
    if name == ReservedName.bytes {
      return Found(.snapshotMeta(number, path: path, base: base))
    }
    let view = try snapshots.snapshot(number).view
    let found = try FSError.translating(try view.child(of: path, named: name))
    switch found {
    case nil: return nil
    case .value(let entry)?: return Self.found(try linked(entry, in: view), in: number)
    case .directory(let entry)?:
      return Found(.directory(number, path: joined(path, name), base: base), entry: entry)
    }
  }

  /// Returns an entry with the revision that all hard links of its file share in a version.
  /// - Complexity: O(1); at the first look-up of a file with *k* names O(*k* log *n*).
  func linked(_ entry: Entry, in view: TreeView) throws(FSError) -> Entry {
    guard let id = entry.attributes.linkID, entry.revision > 0 else { return entry }
    let file = LinkRevisions.File(root: view.map.root, link: id, head: live.shownHead)
    let contents: [Entry]
    if let known = links.contents(of: file) {
      contents = known
    } else {
      contents = try linkContents(id, in: view)
      links.add(contents, of: file)
    }
    var (shared, own) = (entry, entry)
    own.key = Key(bytes: [])
    if let same = contents.first(where: { $0.hasSameContent(as: own) }) {
      shared.revision = min(shared.revision, same.revision)
    }
    return shared
  }

  private func linkContents(_ id: [UInt8], in view: TreeView) throws(FSError) -> [Entry] {
    try FSError.wrapping { () throws(StoreError) in
      var contents: [Entry] = []
      for key in try store.keys(linkedBy: id) {
        guard var other = try view.map.entry(at: key), other.revision > 0 else { continue }
        other.key = Key(bytes: [])
        if let index = contents.firstIndex(where: { $0.hasSameContent(as: other) }) {
          contents[index].revision = min(contents[index].revision, other.revision)
        } else {
          contents.append(other)
        }
      }
      return contents
    }
  }

  static func found(_ entry: Entry, in number: VersionNumber) -> Found {
    Found(.value(number, key: entry.key), numbering: .revision(entry.revision), entry: entry)
  }

  func parentTargets(
    _ number: VersionNumber, _ path: [UInt8], _ base: Int
  ) throws(FSError) -> [[UInt8]] {
    let below = path.dropFirst(base).drop { $0 == 0x2F }
    let depth = below.isEmpty ? 0 : below.split(separator: 0x2F).count
    // Up from `parents` and `.llvs` to the directory, then to `versions`.
    let up = String(repeating: "../", count: depth + 3)
    var targets: [[UInt8]] = []
    for predecessor in try snapshots.snapshot(number).record.predecessors {
      let name = try snapshots.snapshot(predecessor).record.name
      targets.append(
        Array("\(up)\(name)".utf8) + (below.isEmpty ? [] : [0x2F]) + Array(below))
    }
    return targets
  }
}
