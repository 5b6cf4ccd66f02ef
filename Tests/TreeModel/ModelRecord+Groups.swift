import Inodes
package import WorkingTree

extension ModelRecord {
  /// The items by the version that they go into: a change that the head did not touch is made on the head.
  package func grouped(
    _ store: ModelStore, _ table: [Epoch: Int]
  ) -> (record: ModelRecord, groups: [ModelGroup: [ModelItem]]) {
    var record = self
    for item in items { record.place(item, store, table) }
    let joined = record.joinMoves(store, table)
    for item in items where !joined.contains(ObjectIdentifier(item)) {
      record.putWhereItStood(item, store, table)
    }
    record.separate()
    var groups: [ModelGroup: [ModelItem]] = [:]
    for item in items {
      groups[ModelGroup(predecessor: item.predecessor, turn: item.turn), default: []].append(item)
    }
    record.joinRemovals(&groups)
    return (record, groups.filter { !$0.value.isEmpty })
  }

  /// True if two maps show the same at a path, or also below it.
  private func isSame(_ path: String, _ a: ModelMap, _ b: ModelMap, isWhole: Bool) -> Bool {
    let (first, second) = (a.tree, b.tree)
    guard isWhole else { return first[path] == second[path] }
    return first.filter { ModelPath.isAtOrBelow($0.key, path) }
      == second.filter { ModelPath.isAtOrBelow($0.key, path) }
  }

  private mutating func place(_ item: ModelItem, _ store: ModelStore, _ table: [Epoch: Int]) {
    let seen = item.epoch.flatMap { table[$0] } ?? store.head
    item.predecessor = seen
    guard seen != store.head else { return }
    let (old, new) = (store.maps[seen], store.maps[store.head])
    if item.turn == 0 {
      let overDirectory = item.over.map { recorded[$0]?.isDirectory ?? false } ?? false
      let isWhole = item.kind != .put && item.kind != .exclude || overDirectory
      var untouched = isSame(item.path, old, new, isWhole: isWhole)
      if item.kind == .move {
        untouched = untouched && isSame(item.source, old, new, isWhole: true)
      }
      if untouched { item.predecessor = store.head }
    }
  }

  /// In a directory that moved here, what the writer of a change had seen stands where the directory stood, unless the
  /// change goes with the move.
  private mutating func putWhereItStood(
    _ item: ModelItem, _ store: ModelStore, _ table: [Epoch: Int]
  ) {
    let seen = item.epoch.flatMap { table[$0] } ?? store.head
    guard let place = item.place, let before = pathBefore(item, since: seen, store) else { return }
    if item.kind == .put {
      item.isWhereItStood = true
    } else {
      item.kind = .remove
    }
    item.predecessor = seen
    item.path = before
    excluded[place.directory]?.remove(place.name)
  }

  private func pathBefore(_ item: ModelItem, since seen: Int, _ store: ModelStore) -> String? {
    guard seen != store.head, item.turn == 0, item.kind == .put || item.kind == .exclude,
      let place = item.place, let above = recorded.path(of: place.directory)
    else { return nil }
    let (old, new) = (store.maps[seen], store.maps[store.head])
    let before = ModelPath.join(above, place.name.text)
    if item.kind == .put {
      guard recorded.child(place.directory, place.name) != nil, before != item.path else {
        return nil
      }
    }
    return isSame(before, old, new, isWhole: item.kind == .exclude) ? nil : before
  }

  /// Another file may stand now where the directory of one stood: each is in a version of its own.
  private func separate() {
    struct Spot: Hashable {
      let predecessor: Int
      let path: String
      let turn: Int

      init(_ item: ModelItem) {
        (predecessor, path, turn) = (item.predecessor, item.path, item.turn)
      }
    }
    let puts = items.filter { $0.kind == .put }
    var spots = Set(puts.filter { !$0.isWhereItStood }.map { Spot($0) })
    for item in puts where item.isWhereItStood {
      while !spots.insert(Spot(item)).inserted { item.turn += 1 }
    }
  }

  /// A change where a directory was that moved goes with the move; so do changes below it. Returns those that are below
  /// a move that is not made on the head.
  private func joinMoves(_ store: ModelStore, _ table: [Epoch: Int]) -> Set<ObjectIdentifier> {
    let head = store.head
    var joined: Set<ObjectIdentifier> = []
    var moves: [InodeNumber: ModelItem] = [:]
    for item in items where item.kind == .move || item.kind == .make {
      if let number = item.number { moves[number] = item }
    }
    for item in items where item.kind != .exclude {
      guard let place = item.place,
        let over = recorded.child(place.directory, place.name)?.number, let move = moves[over],
        move !== item
      else { continue }
      let predecessor = item.predecessor != head ? item.predecessor : move.predecessor
      (item.predecessor, move.predecessor) = (predecessor, predecessor)
    }
    for item in items {
      guard let place = item.place else { continue }
      let seen = item.epoch.flatMap { table[$0] } ?? head
      let isBehind = pathBefore(item, since: seen, store) != nil
      var directory = place.directory
      var depth = 0
      while directory != .root, depth < 60 {
        if let move = moves[directory], move.predecessor != head,
          !isBehind || seen >= move.predecessor
        {
          item.predecessor = move.predecessor
          joined.insert(ObjectIdentifier(item))
        }
        guard let above = self.place(of: directory) else { break }
        directory = above.directory
        depth += 1
      }
    }
    return joined
  }

  /// The parts of one move belong together: the removal at the old place goes where the move goes.
  private func joinRemovals(_ groups: inout [ModelGroup: [ModelItem]]) {
    var moves: [String: (group: ModelGroup, item: ModelItem)] = [:]
    for (group, items) in groups {
      for item in items where item.kind == .move { moves[item.source] = (group, item) }
    }
    for group in groups.keys.sorted() {
      for item in groups[group] ?? [] where item.kind == .remove {
        guard let move = moves[item.path], move.group != group, let place = item.place,
          recorded.child(place.directory, place.name)?.number == move.item.number
        else { continue }
        groups[group]?.removeAll { $0 === item }
        groups[move.group]?.append(item)
      }
    }
  }
}
