import LLVSCore
import TreeNames

/// A head's map on its way under the live tree.
///
/// INVARIANT: in a map that the live tree shows no two names have one inode number unless they carry one
/// link id and the same bytes and attributes; a name that it showed before keeps its number unless its kind
/// changes, another of its file's names parts from it or it comes to be one more of another file's; and a name
/// that comes has its file's number, or one that no name ever had.
struct LiveMap {
  /// What a head has otherwise than what the tree shows.
  struct Difference {
    /// Parents before children.
    var changes: [ForeignChange] = []
    var implied: [ImpliedChange] = []
  }

  /// What the live tree expects: the map of the cut, or of the head before.
  let shown: ValueMap
  /// The nodes that stand at places whatever the maps say.
  let placed: [MapPlace: UInt64]
  /// The least number that was allotted after the shown head was set.
  let freshInodes: UInt64
  let transaction: WriteTransaction

  /// The map to show for a head, and what differs from what the tree shows, parents before children.
  ///
  /// - Complexity: O(*k* log *n*) for *k* differences.
  func adopt(_ target: ValueMap) throws(StoreError) -> (ValueMap, Difference) {
    var patches: [MapEdit] = []
    var foreign: [ForeignChange] = []
    var rest = placed
    let before = TreeView(map: shown)
    let after = TreeView(map: target)
    var displacements = Displacements(before: before, after: after)
    var parent: (path: [UInt8], inode: UInt64) = ([], LiveTree.rootInode)
    func changed(
      _ key: Key, _ isDirectory: Bool, _ old: Entry?, _ new: Entry?
    ) throws(StoreError) -> ForeignChange {
      let path =
        isDirectory ? TreeView.ownPath(key) : try (new == nil ? before : after).path(of: key)
      let above = path.lastIndex(of: 0x2F).map { Array(path[..<$0]) } ?? []
      if above != parent.path {
        parent = (above, try Self.inode(ofDirectory: above, in: before, placed))
      }
      return ForeignChange(
        path: path, parent: parent.inode, shortening: Self.shown(old, placed), new)
    }
    var diff = try MapDiff(from: shown, to: target)
    var links = LinkNumbers()
    // An escaped key stands before all others, whatever directory its path is in.
    var isInOrder = true
    while let change = try diff.next() {
      var new = change.new
      if change.key.bytes.starts(with: DisplacedName.prefix) { isInOrder = false }
      if change.old == nil || new == nil {
        try displacements.look(at: change.key, isDirectory: change.isDirectory)
      }
      if links.take(change) {
        if let new { rest[MapPlace(new)] = nil }
        transaction.noteLink(change.new)
        continue
      }
      if var entry = new {
        let wanted = try number(for: entry, replacing: change.old)
        rest[MapPlace(entry)] = nil
        if entry.inode != wanted {
          entry.inode = wanted
          patches.append(.put(entry))
          new = entry
        }
      }
      if let old = change.old, let new, old.hasSameContent(as: new) { continue }
      foreign.append(try changed(change.key, change.isDirectory, change.old, new))
    }
    for link in try links.settle(in: self, target: target) {
      isInOrder = false
      guard let key = (link.new ?? link.old)?.key else { continue }
      if let new = link.new, var entry = try target.entry(at: key), entry.inode != new.inode {
        entry.inode = new.inode
        patches.append(.put(entry))
      }
      let shown = Self.shown(link.old, placed)
      if link.hasSameContent, shown?.inode == link.new?.inode { continue }
      foreign.append(try changed(key, false, link.old, link.new))
    }
    for (old, new) in try renumber(rest, in: target, besides: links, &patches) {
      isInOrder = false
      foreign.append(try changed(new.key, false, old, new))
    }
    if !isInOrder { foreign.sort { $0.path.lexicographicallyPrecedes($1.path) } }
    let moves = Self.numbered(displacements.moves, by: patches)
    try Self.add(moves, to: &foreign, from: before, placed)
    let difference = Difference(
      changes: foreign, implied: try Self.implied(displacements, from: before, placed))
    guard !patches.isEmpty else { return (target, difference) }
    patches.sort(by: MapEdit.precedes)
    let patched = try ValueMap(root: target.root, storage: transaction.nodes, cache: target.cache)
      .applying(edits: patches)
    return (patched, difference)
  }

  /// Gives places the numbers of the nodes that stand there, and those of files with several names to the
  /// names at which no node does.
  ///
  /// - Returns: what the latter had and have.
  private func renumber(
    _ rest: [MapPlace: UInt64], in target: ValueMap, besides links: LinkNumbers,
    _ patches: inout [MapEdit]
  ) throws(StoreError) -> [(old: Entry, new: Entry)] {
    var others: [Key: (old: Entry, new: Entry)] = [:]
    for (place, inode) in rest {
      guard var entry = try target.entry(at: place.key, directory: place.isDirectory),
        entry.inode != inode
      else { continue }
      let number = entry.inode
      entry.inode = inode
      patches.append(.put(entry))
      guard let id = entry.attributes.linkID, number != 0 else { continue }
      for key in try transaction.keys(linkedBy: id)
      where placed[MapPlace(key: key, isDirectory: false)] == nil && !links.settles(key) {
        guard let old = try target.entry(at: key), old.inode == number,
          old.attributes.linkID == id
        else { continue }
        var new = old
        new.inode = inode
        others[key] = (old, new)
      }
    }
    patches += others.values.map { .put($0.new) }
    return Array(others.values)
  }

  /// Values that are shown elsewhere, with the numbers that they are to have.
  private static func numbered(
    _ moves: [Displacements.Move], by patches: [MapEdit]
  ) -> [Displacements.Move] {
    guard !moves.isEmpty else { return [] }
    var numbers: [Key: UInt64] = [:]
    for case .put(let entry) in patches where !entry.isDirectory {
      numbers[entry.key] = entry.inode
    }
    return moves.map { move in
      var move = move
      move.new.inode = numbers[move.key] ?? move.new.inode
      return move
    }
  }

  /// An entry of the map that the tree shows, with the number of the node that stands there.
  private static func shown(_ entry: Entry?, _ placed: [MapPlace: UInt64]) -> Entry? {
    guard var entry, let inode = placed[MapPlace(entry)] else { return entry }
    entry.inode = inode
    return entry
  }

  private func number(for entry: Entry, replacing old: Entry?) throws(StoreError) -> UInt64 {
    if let inode = placed[MapPlace(entry)], old.map({ $0.kind == entry.kind }) ?? true {
      return inode
    }
    if let old {
      if old.inode != 0, old.kind == entry.kind { return old.inode }
    } else if entry.inode != 0, entry.inode >= freshInodes {
      return entry.inode
    }
    return try transaction.allotInodes()
  }

  /// The number of a directory of a map, or of the node that stands there whatever the map says; 0 where only
  /// names below it say that it is there.
  static func inode(
    ofDirectory path: [UInt8], in view: TreeView, _ placed: [MapPlace: UInt64] = [:]
  ) throws(StoreError) -> UInt64 {
    if path.isEmpty { return LiveTree.rootInode }
    guard case .directory(let entry?)? = try view.find(path: path) else { return 0 }
    return placed.isEmpty ? entry.inode : placed[MapPlace(entry)] ?? entry.inode
  }

  /// What differs between two maps that both have the live tree's numbers, but for the nodes that stand at
  /// places whatever the first says: what adopting the second has found.
  static func differences(
    from shown: ValueMap, to target: ValueMap, _ placed: [MapPlace: UInt64] = [:]
  ) throws(StoreError) -> Difference {
    var foreign: [ForeignChange] = []
    let before = TreeView(map: shown)
    let after = TreeView(map: target)
    var displacements = Displacements(before: before, after: after)
    var diff = try MapDiff(from: shown, to: target)
    var isInOrder = true
    while let change = try diff.next() {
      if change.key.bytes.starts(with: DisplacedName.prefix) { isInOrder = false }
      if change.old == nil || change.new == nil {
        try displacements.look(at: change.key, isDirectory: change.isDirectory)
      }
      if let old = change.old, let new = change.new, old.hasSameContent(as: new),
        // Another number than is shown parts a name from its file's others.
        Self.shown(old, placed)?.inode == new.inode || !LinkNumbers.concern(change)
      {
        continue
      }
      let path =
        change.isDirectory
        ? TreeView.ownPath(change.key)
        : try (change.new == nil ? before : after).path(of: change.key)
      let above = path.lastIndex(of: 0x2F).map { Array(path[..<$0]) } ?? []
      foreign.append(
        ForeignChange(
          path: path, parent: try inode(ofDirectory: above, in: before, placed),
          shortening: Self.shown(change.old, placed), change.new))
    }
    if !isInOrder { foreign.sort { $0.path.lexicographicallyPrecedes($1.path) } }
    try add(displacements.moves, to: &foreign, from: before, placed)
    return Difference(
      changes: foreign, implied: try implied(displacements, from: before, placed))
  }

  private static func implied(
    _ displacements: Displacements, from before: TreeView, _ placed: [MapPlace: UInt64] = [:]
  ) throws(StoreError) -> [ImpliedChange] {
    try displacements.implied.map { (path, isThere) throws(StoreError) in
      let above = path.lastIndex(of: 0x2F).map { Array(path[..<$0]) } ?? []
      return ImpliedChange(
        path: path, parent: try inode(ofDirectory: above, in: before, placed), isThere: isThere)
    }
  }

  /// Adds values that are shown elsewhere, in the place of what is said of their keys.
  static func add(
    _ moves: [Displacements.Move], to foreign: inout [ForeignChange], from before: TreeView,
    _ placed: [MapPlace: UInt64] = [:]
  ) throws(StoreError) {
    guard !moves.isEmpty else { return }
    for move in moves {
      var new = move.new
      let known = foreign.firstIndex { change in
        guard let entry = change.new ?? change.old else { return false }
        return !entry.isDirectory && entry.key == move.key
      }
      if let known {
        new = foreign[known].new ?? new
        foreign.remove(at: known)
      }
      let above = move.to.lastIndex(of: 0x2F).map { Array(move.to[..<$0]) } ?? []
      foreign.append(
        ForeignChange(
          path: move.to, from: move.from,
          parent: try inode(ofDirectory: above, in: before, placed),
          old: shown(move.old.shortened, placed), new: new.shortened))
    }
    foreign.sort { $0.path.lexicographicallyPrecedes($1.path) }
  }
}
