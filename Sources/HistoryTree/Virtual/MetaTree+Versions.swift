import Events
import Grammar
package import LLVSCore
import TreeNames
import WorkingTree

extension MetaTree {
  private static let up = Array("../versions/".utf8)

  func versionChild(
    of directory: MetaNode, named name: [UInt8]
  ) throws(FSError) -> Found? {
    guard let text = String(validating: name, as: UTF8.self) else { return nil }
    switch directory.content {
    case .versions: return try version(text, in: directory)
    case .heads:
      let heads = try uncontainedHeads()
      return heads.contains { $0.name == text } ? alias(text) : nil
    case .branches:
      guard let line = try line(named: name, among: lineNames),
        let newest = try newest(ofLine: line)
      else { return nil }
      return alias(newest.name)
    case .tags:
      guard let tag = try line(named: name, among: tagNames) else { return nil }
      let tagged = try FSError.translating(try store.version(tagged: tag))
      return tagged.map { alias($0.name) }
    case .times:
      let now = Attributes.Time.now
      let expression = TimeExpression(now: Self.instant(now), calendar: calendar)
      guard let instant = expression.instant(text), let found = try shown(at: instant) else {
        return nil
      }
      return alias(found.name)
    default: return nil
    }
  }

  private func alias(_ name: String) -> Found {
    Found(.link(target: Self.up + Array(name.utf8)))
  }

  static func instant(_ time: Attributes.Time) -> Int64 {
    let (seconds, overflows) = time.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carries) = seconds.addingReportingOverflow(Int64(time.nanoseconds))
    return overflows || carries ? (time.seconds < 0 ? .min : .max) : sum
  }

  private func version(
    _ name: String, in directory: MetaNode
  ) throws(FSError) -> Found? {
    let named = try FSError.translating(try store.version(named: name))
    if let named {
      snapshots.remember(named)
      let isTop = directory.root == TreeSession.rootInode
      let path = try rootPath(of: directory)
      return Found(
        .directory(named.number, path: path, base: path.count),
        numbering: isTop ? .version(named.number.rawValue) : .directory)
    }
    do throws(StoreError) {
      let target = try store.resolve(name)
      return Found(.link(target: Array(target.name.utf8)))
    } catch .notFound, .invalid {
      return nil
    } catch {
      throw FSError(error)
    }
  }

  /// True if a version differs below a directory from each predecessor.
  func changes(_ version: VersionLine, below path: [UInt8]) throws(StoreError) -> Bool {
    let prefix = path + [0x2F]
    var prefixes = [prefix]
    let map = store.map(version.map)
    let predecessors = [version.first, version.second].compactMap(\.self)
    guard !predecessors.isEmpty else {
      if try map.contains(prefix: prefix) { return true }
      return try map.contains(prefix: TreeView.escapedPrefix(prefix))
    }
    if try TreeView(map: map).hasEscaped() { prefixes.append(TreeView.escapedPrefix(prefix)) }
    for predecessor in predecessors {
      let before = try StoreError.wrapping { () throws(FSError) in
        try snapshots.snapshot(predecessor).view.map
      }
      var differs = false
      for prefix in prefixes where !differs {
        var diff = try MapDiff(from: before, to: map, prefix: prefix, comparing: .content)
        differs = try diff.next() != nil
      }
      if !differs { return false }
    }
    return true
  }

  func uncontainedHeads() throws(FSError) -> [VersionRecord] {
    let line = try headLine()
    let nodes = try FSError.translating(try store.graph.uncontainedHeads(ofLine: line))
    var records: [VersionRecord] = []
    for node in nodes { records.append(try snapshots.snapshot(node.number).record) }
    return records
  }

  /// Returns the name of a line's link: the line's name if a file can have it, else an escaped one.
  static func name(ofLine line: String) -> [UInt8]? {
    guard !line.hasPrefix("llvs.") else { return nil }
    let bytes = Array(line.utf8)
    let isPlain =
      DisplacedName.isName(bytes) && !bytes.contains(0x2F)
      && !bytes.starts(with: DisplacedName.prefix)
    return isPlain ? bytes : DisplacedName.candidate(0, for: Key(bytes: bytes))
  }

  /// Returns the line or tag of a link. An escaped name with only a hash is compared with all lines.
  private func line(
    named name: [UInt8], among all: () throws(FSError) -> [String]
  ) throws(FSError) -> String? {
    guard name.starts(with: DisplacedName.prefix) else {
      return String(validating: name, as: UTF8.self).flatMap {
        Self.name(ofLine: $0) == name ? $0 : nil
      }
    }
    guard let key = DisplacedName.key(of: name) else {
      return try all().first { Self.name(ofLine: $0) == name }
    }
    guard let line = String(validating: key.bytes, as: UTF8.self), Self.name(ofLine: line) == name
    else { return nil }
    return line
  }

  private func newest(ofLine line: String) throws(FSError) -> VersionRecord? {
    let branch = line == VersionRecord.unnamedLine ? nil : Branch(rawValue: line)
    let heads = try FSError.translating(try store.graph.openHeads(ofLine: branch))
    guard let newest = heads.max(by: HistoryNode.isOlder) else { return nil }
    return try snapshots.snapshot(newest.number).record
  }

  func lineNames() throws(FSError) -> [String] {
    try FSError.wrapping { () throws(StoreError) in
      var names: [String] = []
      for line in try store.all(store.lines(after:limit:)) where try store.hasOpenHead(line) {
        names.append(line)
      }
      return names
    }
  }

  func tagNames() throws(FSError) -> [String] {
    try FSError.translating(try store.all(store.tags(after:limit:)))
  }

  /// Returns the version that the tree showed at an instant, in nanoseconds since 1970, or the kept one before it.
  func shown(at instant: Int64) throws(FSError) -> VersionRecord? {
    try FSError.translating(
      try store.version(shownAt: instant, head: live.shownHead) { live.damage.tell($0) })
  }

  /// Converts an instant to seconds since 2001-01-01 UTC, rounded down: the last instant of a day must not become
  /// the first of the next.
  static func referenceTime(_ instant: Int64) -> Double {
    var seconds = instant / 1_000_000_000
    var rest = instant % 1_000_000_000
    if rest < 0 {
      seconds -= 1
      rest += 1_000_000_000
    }
    let whole = Double(seconds - 978_307_200)
    let fraction = Double(rest) / 1e9
    let time = whole + fraction
    return time - whole > fraction ? time.nextDown : time
  }
}

/// The ancestors of a version, searched only as far back as needed.
package struct Ancestors {
  private let graph: VersionGraph
  private var open: [VersionNumber]
  private var seen: Set<VersionNumber>

  package init(of number: VersionNumber, in graph: VersionGraph) {
    self.graph = graph
    open = [number]
    seen = [number]
  }

  /// - Complexity: O(unvisited ancestors with greater numbers).
  package mutating func contains(_ number: VersionNumber) throws(StoreError) -> Bool {
    var later: [VersionNumber] = []
    while let next = open.popLast() {
      // Predecessors have smaller numbers.
      guard next > number else {
        later.append(next)
        continue
      }
      let node = try graph.node(next)
      for predecessor in [node.first, node.second].compactMap(\.self)
      where seen.insert(predecessor).inserted {
        open.append(predecessor)
      }
    }
    open = later
    return seen.contains(number)
  }

  /// Returns the version among the ancestors with the greatest (timestamp, generation, id) up to a time. Forgotten
  /// versions are passed over unless `isAny` is true.
  static func newest(
    of head: VersionNumber, in store: Store, notAfter time: Double, isAny: Bool = false
  ) throws(StoreError) -> VersionRecord? {
    guard var last = try store.version(head) else { return nil }
    var ancestors = Ancestors(of: head, in: store.graph)
    last.start(at: time.nextUp)
    while true {
      let page =
        try isAny
        ? store.versionsNewestFirst(before: last, limit: 64)
        : store.keptVersionsNewestFirst(before: last, limit: 64)
      guard let end = page.last else { return nil }
      for record in page where try ancestors.contains(record.number) { return record }
      last = end
    }
  }
}

extension Store {
  /// Returns the version that the tree showed at an instant, in nanoseconds since 1970. If that version is forgotten,
  /// returns its newest ancestor that is kept. Before the log of heads begins, ancestors of `head` count.
  func version(
    shownAt instant: Int64, head: VersionNumber?, passingOver report: (String) -> Void = { _ in }
  ) throws(StoreError) -> VersionRecord? {
    let logged = try self.head(at: instant, passingOver: report)
    if let shown = logged?.version, try !isForgotten(shown) { return try version(shown) }
    if let logged, logged.version == nil { return nil }
    guard let start = logged?.version ?? head else { return nil }
    return try Ancestors.newest(
      of: start, in: self, notAfter: MetaTree.referenceTime(instant))
  }

  /// Returns the forgotten version that the tree showed at an instant; nil if that version is kept.
  func forgottenVersion(
    shownAt instant: Int64, head: VersionNumber?
  ) throws(StoreError) -> VersionRecord? {
    let shown: VersionRecord?
    if let logged = try self.head(at: instant, passingOver: { _ in }) {
      shown = try version(logged.version)
    } else {
      shown = try head.flatMap { (head) throws(StoreError) in
        try Ancestors.newest(
          of: head, in: self, notAfter: MetaTree.referenceTime(instant), isAny: true)
      }
    }
    guard let shown, try isForgotten(shown.number) else { return nil }
    return shown
  }
}

extension VersionRecord {
  /// Makes the record a position before all versions with a timestamp and after older ones.
  mutating func start(at timestamp: Double) {
    self.timestamp = timestamp
    generation = 0
    id = Version.ID("")
  }
}
