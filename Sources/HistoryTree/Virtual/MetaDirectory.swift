package import LLVSCore
import Synchronization
package import TreeNames

/// An open directory of the tree below `.llvs`.
/// - Concurrency: any thread; one leaf lock, released while names are read.
package final class MetaDirectory: Sendable {
  package struct Item: Sendable {
    package var name: [UInt8]
    package var kind: EntryKind
    package var inode: UInt64
    /// The offset of the next name.
    package var next: UInt64
    /// The result of the look-up, if known from the listing.
    let found: MetaTree.Found?
  }

  /// The source of names, in an order that does not change in the meantime.
  enum Source {
    /// All names; offsets are positions in the array.
    case list([MetaListing.Name])
    case snapshot(MetaListing.OfSnapshot)
    case versions(MetaListing.OfVersions)
    case days(MetaListing.OfDays)
    case history(MetaListing.OfHistory)
  }

  let tree: MetaTree
  let node: MetaNode
  private let above: UInt64
  private struct Reading {
    var source: Source
    /// The last names; some may not have fitted into the reply.
    var items: ArraySlice<Item> = []
    /// The offset before these names.
    var start: UInt64 = 0
  }

  // Taken while a thread reads from it; another thread then starts a new one.
  private let reading: Mutex<Reading?>

  /// True if the names never change, so that the kernel may cache the listing.
  package var isLasting: Bool { tree.isFixed(node) && node.content.isHistory }

  init(tree: MetaTree, node: MetaNode, above: UInt64) {
    self.tree = tree
    self.node = node
    self.above = above
    reading = Mutex(nil)
  }

  /// Returns up to `limit` names after an offset, which is 0 or an item's ``Item/next``: `.` and `..` first.
  /// - Complexity: bounded memory if its source is no array.
  package func next(after offset: UInt64, limit: Int) throws(FSError) -> [Item] {
    var items: [Item] = []
    if offset == 0 { items.append(dot([0x2E], node.inode, 1)) }
    if offset <= 1, items.count < limit { items.append(dot([0x2E, 0x2E], above, 2)) }
    let start = max(offset, 2)
    guard items.count < limit else { return items }
    var current = offset == 0 ? nil : reading.withLock { $0.take() }
    if current == nil { current = Reading(source: try tree.source(of: node)) }
    guard var reading = current else { return items }
    // The source cannot go back.
    if let last = reading.items.last, start >= reading.start, start < last.next {
      reading.items = reading.items.drop { $0.next <= start }
    } else {
      reading.items = try read(limit - items.count, after: start, from: &reading.source)[...]
    }
    reading.start = start
    items += reading.items.prefix(limit - items.count)
    let rest = reading
    self.reading.withLock { $0 = rest }
    return items
  }

  private func read(
    _ count: Int, after offset: UInt64, from source: inout Source
  ) throws(FSError) -> [Item] {
    var items: [Item] = []
    var at = offset
    while items.count < count, let name = try source.next(after: at - 2, tree, node) {
      at = name.position + 2
      let inode = tree.nodes.promise(name.numbering, under: node.inode, name: name.name)
      items.append(
        Item(name: name.name, kind: name.kind, inode: inode, next: at, found: name.found))
    }
    return items
  }

  private func dot(_ name: [UInt8], _ inode: UInt64, _ next: UInt64) -> Item {
    Item(name: name, kind: .directory, inode: inode, next: next, found: nil)
  }

  /// True if the attributes cost too much for a plain listing.
  package func isCostly(_ item: Item) -> Bool {
    guard tree.sized != nil, item.kind == .regular, case .snapshotMeta = node.content else {
      return false
    }
    return true
  }

  /// Counts a look-up of a listed name, without a search if the listing has the result.
  package func lookup(_ item: Item) throws(FSError) -> MetaEntry {
    guard let found = item.found else { return try tree.lookup(node.inode, item.name) }
    return try tree.adopt(found, in: node, name: item.name)
  }
}

extension MetaDirectory.Source {
  mutating func next(
    after position: UInt64, _ tree: MetaTree, _ node: MetaNode
  ) throws(FSError) -> MetaListing.Name? {
    switch self {
    case .list(let names):
      guard position < UInt64(names.count) else { return nil }
      var name = names[Int(position)]
      name.position = position + 1
      return name
    case .snapshot(var listing):
      defer { self = .snapshot(listing) }
      return try listing.next(after: position, tree)
    case .versions(var listing):
      defer { self = .versions(listing) }
      return try listing.next(after: position, tree)
    case .days(let listing):
      return try listing.next(after: position, tree)
    case .history(var listing):
      defer { self = .history(listing) }
      return try listing.next(after: position, tree)
    }
  }
}

extension MetaTree {
  /// Opens a directory; throws ``FSError/notDirectory`` for another node.
  package func openDirectory(_ inode: UInt64) throws(FSError) -> MetaDirectory {
    let node = try nodes.node(inode)
    guard node.content.kind == .directory else { throw .notDirectory }
    return MetaDirectory(tree: self, node: node, above: try parent(of: inode))
  }

  func source(of node: MetaNode) throws(FSError) -> MetaDirectory.Source {
    switch node.content {
    case .meta(let root): return .list(try metaNames(of: root))
    case .heads:
      return .list(try uncontainedHeads().map { MetaListing.Name(link: Array($0.name.utf8)) })
    case .branches:
      return .list(
        try lineNames().compactMap(Self.name(ofLine:)).map { MetaListing.Name(link: $0) })
    case .tags:
      return .list(
        try tagNames().compactMap(Self.name(ofLine:)).map { MetaListing.Name(link: $0) })
    case .peers: return .list(try writableNames(peerFiles))
    case .versions: return .versions(try MetaListing.OfVersions(self, node))
    case .times: return .days(MetaListing.OfDays())
    case .conflicts(let path): return .list(try conflictNames(of: path))
    // It would contain every name.
    case .search: return .list([])
    case .found(let words, let directory): return .list(try foundNames(words, below: directory))
    case .history(let path): return .history(try MetaListing.OfHistory(self, path))
    case .directory(let number, let path, let base):
      let view = try snapshots.snapshot(number).view
      return .snapshot(MetaListing.OfSnapshot(view, number, path, base))
    case .snapshotMeta:
      return .list([
        MetaListing.Name("info", .regular), MetaListing.Name("parents", .directory),
        MetaListing.Name("changes", .regular),
      ])
    case .parents(let number, _, _):
      let count = try snapshots.snapshot(number).record.predecessors.count
      return .list((0..<count).map { MetaListing.Name(link: Array("\($0 + 1)".utf8)) })
    default: throw .notDirectory
    }
  }

  private func metaNames(of root: UInt64) throws(FSError) -> [MetaListing.Name] {
    var names: [MetaListing.Name] = []
    for name in MetaName.allCases where name != .ignore {
      guard let found = try metaChild(of: root, name) else { continue }
      // Each look-up of `control` makes a new node, so the listing shows an unused number.
      let numbering = found.numbering == .fresh ? .other : found.numbering
      names.append(
        MetaListing.Name(name: name.bytes, kind: found.content.kind, numbering: numbering))
    }
    return names + (try writableNames(ignoreFiles))
  }

  func writableNames(_ place: WritablePlace) throws(FSError) -> [MetaListing.Name] {
    try place.names().map {
      MetaListing.Name(name: $0.name, kind: .regular, numbering: .given($0.inode))
    }
  }
}
