import Inodes
import LLVSCore
import Platform
package import TreeNames

// Changes of patterns: docs/mounted-tree.md, rule 12.

extension WorkingTree {
  /// Changes the store's own patterns. Throws the error of the journal; then nothing has changed.
  package func setIgnore(_ patterns: IgnorePatterns) throws(FSError) {
    try withRoom { () throws(FSError) in
      try writing.withLock { _ throws(FSError) in
        let (overlay, ignore) = state { ($0.overlay, $0.ignore) }
        let moves = try FSError.translating(
          try scratchMoves(from: rules(ignore, overlay), to: rules(patterns, overlay), overlay))
        let changes = moves.map { Change(time: .now, $0) }
        if !changes.isEmpty {
          try FSError.translating(try journal.append(changes, mayUseReserve: true))
        }
        state { state in
          for change in changes { state.apply(change) }
          state.ignore = patterns
        }
      }
    }
  }

  /// Returns changes of patterns, and after them the moves of scratch whose pattern they take away or bring back.
  /// The caller holds `writing` and no other lock, because patterns are read.
  func withScratchMoves(_ changes: [Change]) throws(StoreError) -> [Change] {
    guard let time = changes.first?.time else { return changes }
    let (overlay, ignore) = state { ($0.overlay, $0.ignore) }
    var after = overlay
    for change in changes { after.apply(change) }
    let moves = try scratchMoves(from: rules(ignore, overlay), to: rules(ignore, after), after)
    return changes + moves.map { Change(time: time, $0) }
  }

  private func rules(_ ignore: IgnorePatterns, _ overlay: Overlay) -> IgnoreRules {
    IgnoreRules(ignore, in: FrozenTree(overlay, over: base)) { self.text(of: $0) }
  }

  /// Moves scratch to its aside name if no pattern matches any more, and back if one does; `overlay` has the names.
  private func scratchMoves(
    from before: IgnoreRules, to after: IgnoreRules, _ overlay: Overlay
  ) throws(StoreError) -> [Change.Operation] {
    var overlay = overlay
    var moves: [Change.Operation] = []
    func move(_ number: InodeNumber, _ from: InodeName, _ to: InodeName) {
      let move = Change.Operation.rename(
        number, from: from, to: to, over: nil, isKept: false, by: .reader, seen: nil)
      overlay.apply(Change(time: .now, move))
      moves.append(move)
    }
    for own in overlay.namesAside where overlay.changes[own] == nil {
      guard let number = overlay.changes[own.aside]?.inode, try after.ignores(number, at: own),
        try base.child(of: own.directory, named: own.name) == nil
      else { continue }
      move(number, own.aside, own)
    }
    var lost: [(path: TreePath, number: InodeNumber, place: InodeName)] = []
    for (place, change) in overlay.changes {
      guard let number = change.inode, !place.isAside, !change.isHeld, !change.hidesRecorded,
        overlay.changes[place.aside]?.inode == nil, try before.ignored(number, at: place),
        try !after.ignores(number, at: place), let above = overlay.path(of: place.directory)
      else { continue }
      lost.append((above.appending(place.name), number, place))
    }
    // What is in a directory goes aside with the directory.
    for (_, number, place) in lost.sorted(by: { $0.path < $1.path }) {
      guard overlay.path(of: place.directory)?.bytes.contains(0) == false else { continue }
      move(number, place, place.aside)
    }
    return moves
  }
}

extension Overlay {
  private static let patternsName = FileName(IgnoreScope.fileName)

  /// True if other patterns may apply after changes.
  @inline(__always)
  func changesPatterns(_ changes: [Change]) -> Bool {
    var known: [InodeNumber: [InodeName]] = [:]
    for change in changes {
      switch change.operation {
      case .node(let number, let node): known[number] = node.names
      case .create(_, let place, _, _, _, _, _), .link(_, let place, _, _),
        .unlink(let place, _, _, _):
        if Self.isOfPatterns(place) { return true }
      case .rename(_, let from, let to, _, _, _, _), .exchange(_, let from, _, let to, _, _):
        if Self.isOfPatterns(from) || Self.isOfPatterns(to) { return true }
      case .save(let number, _):
        let names = nodes.names(of: number) ?? known[number] ?? []
        for place in names where Self.isOfPatterns(place) { return true }
      case .write, .resize, .punch, .attributes, .rmdir, .release: break
      }
    }
    return false
  }

  private static func isOfPatterns(_ place: InodeName) -> Bool {
    place.name == patternsName || place.isAside && place.own.name == patternsName
  }
}
