import Inodes
import LLVSCore

// Scratch hides nothing that the head has, and stays scratch if the head takes its pattern away: then it moves to its
// aside name, and back once the head has not its name and a pattern matches (docs/mounted-tree.md, rule 12).

extension Following {
  /// Moves scratch aside where the head has its name.
  mutating func setScratchAside() throws(StoreError) {
    for place in places where !place.isAside {
      guard let change = overlay.changes[place], !change.isHeld, !change.hidesRecorded,
        try hidesOther(change, at: place), try head.isScratch(place)
      else { continue }
      move(place, to: place.aside)
    }
  }

  /// Moves scratch aside that only now has a name of the head, because directories were joined or stay for scratch
  /// alone.
  mutating func settleScratch() throws(StoreError) {
    for (place, old) in joined.sorted(by: { $0.value.name < $1.value.name }) {
      guard let change = overlay.changes[place], !change.isHeld, try hidesOther(change, at: place),
        try isScratch(old)
      else { continue }
      move(place, to: place.aside)
    }
    for place in places {
      if let change = overlay.changes[place], change.isHeld, let number = change.inode,
        try hidesOther(change, at: place), try hasOnlyScratch(number)
      {
        move(place, to: place.aside)
      }
    }
  }

  /// Gives scratch its own name back where the head does not have it and a pattern matches, and moves scratch aside
  /// that no pattern matches any more.
  mutating func followPatterns() throws(StoreError) {
    guard let isIgnored = head.patterns?(overlay, base) else { return }
    for place in places {
      let own = place.own
      guard let number = overlay.changes[own.aside]?.inode, overlay.changes[own] == nil,
        try base.child(of: own.directory, named: own.name) == nil,
        try isIgnored(number, own)
      else { continue }
      move(own.aside, to: own)
    }
    // A head that changes patterns or paths has no scope.
    guard scope == nil else { return }
    var freed: [(path: TreePath, place: InodeName)] = []
    for (place, change) in overlay.changes where !place.isAside && !change.isHeld {
      guard let number = change.inode, try isScratch(joined[place] ?? place),
        try !isIgnored(number, place), let above = overlay.path(of: place.directory)
      else { continue }
      freed.append((above.appending(place.name), place))
    }
    // What is in a directory goes aside with the directory.
    for (_, place) in freed.sorted(by: { $0.path.bytes.count < $1.path.bytes.count }) {
      if overlay.path(of: place.directory)?.bytes.contains(0) ?? true { continue }
      move(place, to: place.aside)
    }
  }

  private func hidesOther(_ change: NameChange, at place: InodeName) throws(StoreError) -> Bool {
    guard let number = change.inode,
      let there = try base.child(of: place.directory, named: place.name)?.inode.number,
      there != number
    else { return false }
    // Programs may have moved it since the cut.
    let names = overlay.nodes.names(of: there) ?? []
    return !names.contains { overlay.changes[$0]?.inode == there }
  }

  /// True for scratch before the head.
  private func isScratch(_ place: InodeName) throws(StoreError) -> Bool {
    guard let change = original.changes[place], !change.hidesRecorded else { return false }
    return try head.isScratch(place)
  }

  /// True if a directory without an entry of its own has scratch, and nothing that a version may take.
  private func hasOnlyScratch(_ directory: InodeNumber) throws(StoreError) -> Bool {
    var open = [directory]
    var isEmpty = true
    while let directory = open.popLast() {
      for name in overlay.changedNames(of: directory) {
        let place = InodeName(directory: directory, name: name)
        guard let change = overlay.changes[place], let number = change.inode else { continue }
        if change.isHeld {
          open.append(number)
        } else if try !isScratch(joined[place] ?? place) {
          return false
        } else {
          isEmpty = false
        }
      }
    }
    return !isEmpty
  }

  private mutating func move(_ place: InodeName, to target: InodeName) {
    guard var change = overlay.changes[place], let number = change.inode,
      overlay.changes[target]?.inode == nil
    else { return }
    change.on = nil
    change.hide(nil)
    overlay.setChange(nil, at: place)
    overlay.setChange(change, at: target)
    let names = overlay.nodes[number]?.names ?? []
    overlay.nodes[number]?.names = names.map { $0 == place ? target : $0 }
    scope?.insert(number, at: target)
    scope?.insert(number, at: place)
    behind.remove(place)
  }
}
