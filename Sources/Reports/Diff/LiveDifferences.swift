package import LLVSCore
import TreeNames
import WorkingTree

/// The differences between a version and the working tree. Pending paths are read before the head, so a new version
/// only adds comparisons.
package struct LiveDifferences {
  private let store: Store
  private let place: any ComparedTree
  private let paths: [[UInt8]]
  private let pending: [(change: PendingPath.Change, path: [UInt8])]

  package init(_ store: Store, _ place: any ComparedTree, paths: [[UInt8]]) throws {
    self.store = store
    self.place = place
    self.paths = paths
    pending = try place.pending(in: store)
  }

  /// Calls `body` with each difference from a version, by default the head, in order of path.
  /// - Complexity: O(*k* log *n*) for *k* changes and pending names, besides reading their bytes.
  package func forEach(
    from old: VersionRecord?, findingRenames: Bool, _ body: (TreeDifference) throws -> Void
  ) throws {
    let head = try store.headRecord()
    let base = old?.map ?? head?.map ?? .empty
    let view = TreeView(map: store.map(base))
    // The paths to compare in the tree; true to include everything below.
    var open: [[UInt8]: Bool] = [:]
    for (change, path) in pending where isShown(path) { open[path] = change != .changed }
    var live: [TreeDifference] = []
    for (path, isWhole) in open {
      if isWhole { try compareAll(at: path, view, &live) } else { try compare(path, view, &live) }
    }
    live.sort { $0.path.lexicographicallyPrecedes($1.path) }
    // A path inside another that is compared with everything below it was added twice.
    var last: [UInt8]?
    live = live.filter { difference in
      defer { last = difference.path }
      return difference.path != last
    }
    var rest = try findingRenames ? Self.joiningRenames(live)[...] : live[...]
    try VersionDifferences(
      store, from: base, to: head?.map ?? .empty, paths: paths, findingRenames: findingRenames
    ).forEach { stored in
      guard let stored = remaining(of: stored, open) else { return }
      while let next = rest.first, next.path.lexicographicallyPrecedes(stored.path) {
        try body(next)
        rest.removeFirst()
      }
      try body(stored)
    }
    for difference in rest { try body(difference) }
  }

  /// The most bytes that are read to find renames.
  private static let renameBytes: UInt64 = 256 << 20

  /// Joins a removed and a new file into a rename, if no other removed or new file has the same bytes.
  private static func joiningRenames(_ all: [TreeDifference]) throws -> [TreeDifference] {
    var went: [UInt64: [Int]] = [:]
    var came: [UInt64: [Int]] = [:]
    for (index, difference) in all.enumerated() {
      if difference.new == nil, let old = difference.old, old.hasBytes, old.length > 0 {
        went[old.length, default: []].append(index)
      }
      if difference.old == nil, let new = difference.new, new.hasBytes, new.length > 0 {
        came[new.length, default: []].append(index)
      }
    }
    var joined = all
    var dropped: Set<Int> = []
    var budget = renameBytes
    // Only files with the same length as one on the other side are read.
    for (length, from) in went.sorted(by: { $0.key < $1.key }) {
      guard let to = came[length], length <= budget / UInt64(from.count + to.count) else {
        continue
      }
      budget -= length * UInt64(from.count + to.count)
      var ends: [Digest: (from: [Int], to: [Int])] = [:]
      for index in from {
        guard let digest = try all[index].old?.digest() else { continue }
        ends[digest, default: ([], [])].from.append(index)
      }
      for index in to {
        guard let digest = try all[index].new?.digest() else { continue }
        ends[digest, default: ([], [])].to.append(index)
      }
      for (from, to) in ends.values where from.count == 1 && to.count == 1 {
        guard all[from[0]].old?.kind == all[to[0]].new?.kind else { continue }
        joined[to[0]].old = all[from[0]].old
        joined[to[0]].renamedFrom = all[from[0]].path
        dropped.insert(from[0])
      }
    }
    return joined.indices.filter { !dropped.contains($0) }.map { joined[$0] }
  }

  /// Returns the part of a difference between versions that is outside of the paths compared in the tree.
  private func remaining(of stored: TreeDifference, _ open: [[UInt8]: Bool]) -> TreeDifference? {
    guard let from = stored.renamedFrom else {
      return isCovered(stored.path, by: open) ? nil : stored
    }
    switch (isCovered(from, by: open), isCovered(stored.path, by: open)) {
    case (false, false): return stored
    case (true, true): return nil
    case (true, false): return TreeDifference(path: stored.path, new: stored.new)
    case (false, true): return TreeDifference(path: from, old: stored.old)
    }
  }

  private func isShown(_ path: [UInt8]) -> Bool {
    paths.isEmpty
      || paths.contains { PathFilter.isAtOrBelow(path, $0) || PathFilter.isAtOrBelow($0, path) }
  }

  private func isCovered(_ path: [UInt8], by open: [[UInt8]: Bool]) -> Bool {
    if open[path] != nil { return true }
    var end = path.endIndex
    while let slash = path[..<end].lastIndex(of: 0x2F) {
      if open[Array(path[..<slash])] == true { return true }
      end = slash
    }
    return false
  }

  private func compare(_ path: [UInt8], _ view: TreeView, _ out: inout [TreeDifference]) throws {
    guard paths.isEmpty || paths.contains(where: { PathFilter.isAtOrBelow(path, $0) }) else {
      return
    }
    var old: FileImage?
    switch try view.find(path: path) {
    case .value(let entry)?, .directory(let entry?)?: old = FileImage(entry, in: store)
    default: break
    }
    let new = try place.image(path)
    try append(path, old, new, view, &out)
  }

  private func append(
    _ path: [UInt8], _ old: FileImage?, _ new: FileImage?, _ view: TreeView,
    _ out: inout [TreeDifference]
  ) throws {
    if let old, let new, try old.isLike(new) { return }
    guard old != nil || new != nil else { return }
    var difference = TreeDifference(path: path, old: old, new: new)
    if new == nil, old?.isDirectory ?? false { difference.isFull = try view.hasChildren(path) }
    if old == nil, new?.isDirectory ?? false {
      difference.isFull = try !place.names(in: path).isEmpty
    }
    out.append(difference)
  }

  private func compareAll(
    at path: [UInt8], _ view: TreeView, _ out: inout [TreeDifference]
  ) throws {
    try compare(path, view, &out)
    var below: Set<[UInt8]> = []
    var walk = view.entries(below: path)
    while let (relative, _) = try walk.next() { below.insert(path + [0x2F] + relative) }
    try collect(path, &below)
    for path in below { try compare(path, view, &out) }
  }

  /// Collects the paths below a directory of the tree, except ignored files.
  private func collect(_ path: [UInt8], _ found: inout Set<[UInt8]>) throws {
    for name in try place.names(in: path) {
      let child = path + [0x2F] + name
      found.insert(child)
      try collect(child, &found)
    }
  }
}

/// Parses names in the form of ``PrintableText/text(_:)``.
package enum VisibleName {
  package static func bytes(_ text: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      guard byte == 0x5C, digits.count == 3, digits.allSatisfy({ (0x30...0x37).contains($0) }),
        let first = digits.first, first <= 0x33
      else {
        bytes.append(byte)
        continue
      }
      bytes.append(digits.reduce(0) { $0 << 3 | ($1 & 7) })
      rest = rest.dropFirst(3)
    }
    return bytes
  }
}
