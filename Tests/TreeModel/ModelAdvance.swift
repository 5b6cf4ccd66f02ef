package import Inodes
package import WorkingTree

/// The recorded tree of a new head: the map says what stands where, the working tree says which number it has.
package struct ModelAdvance {
  package let record: ModelRecord
  package let current: Overlay
  package let tree: ModelTree
  package let target: [String: ModelShown]
  package let allot: () -> InodeNumber
  private var files: [String: ModelItem] = [:]
  private var directories: [String: InodeNumber] = [:]
  private var before: [String: ModelShown] = [:]
  private var places: [String: (place: InodeName, number: InodeNumber)] = [:]

  package init(
    _ record: ModelRecord, _ items: [ModelItem], current: Overlay, to map: ModelMap,
    allot: @escaping () -> InodeNumber
  ) {
    self.record = record
    self.current = current
    tree = ModelTree(copying: record.recorded)
    target = map.tree
    self.allot = allot
    let items = items.sorted { ModelPath.precedes($0.path, $1.path) }
    for item in items where item.place != nil {
      if item.kind == .put, files[item.path] == nil { files[item.path] = item }
      if item.kind == .make || item.kind == .move { directories[item.path] = item.number }
    }
    split(items)
    moveDirectories(items)
    putFiles()
    tree.collect()
  }

  /// A number goes where programs see it: other names of it get another.
  private func split(_ items: [ModelItem]) {
    for item in items where item.kind == .put && item.place != nil && item.link == nil {
      guard let number = item.number, let inode = tree[number], target[item.path] != nil else {
        continue
      }
      for place in tree.places(number) {
        if record.overlay.nodes[number]?.names.contains(place) ?? false { continue }
        let new = allot()
        tree.put(inode, new)
        tree.set(place, new, key: tree.child(place.directory, place.name)?.key)
      }
    }
  }

  private mutating func moveDirectories(_ items: [ModelItem]) {
    var moves: [(path: String, number: InodeNumber)] = []
    func isDirectory(_ path: String) -> Bool { target[path]?.isDirectory ?? false }
    for item in items where item.kind == .make || item.kind == .move {
      if let number = item.number, isDirectory(item.path) { moves.append((item.path, number)) }
    }
    for item in items {
      var directory = item.place?.directory ?? .root
      while directory != .root, let path = record.path(of: directory) {
        let isNew = !moves.contains { $0 == (path, directory) }
        if tree[directory] == nil, isNew, isDirectory(path) {
          moves.append((path, directory))
          if directories[path] == nil { directories[path] = directory }
        }
        guard let place = record.place(of: directory) else { break }
        directory = place.directory
      }
    }
    moves.sort { ModelPath.precedes($0.path, $1.path) }
    for move in moves { for place in tree.places(move.number) { tree.remove(place) } }
    for move in moves {
      guard let parent = tree.number(at: ModelPath.parent(move.path)),
        tree[parent]?.isDirectory ?? false, isReachable(parent, besides: move.number)
      else { continue }
      if tree[move.number] == nil { tree.put(ModelTree.Inode(isDirectory: true), move.number) }
      tree.set(
        InodeName(directory: parent, name: FileName(ModelPath.name(move.path))), move.number)
    }
    tree.collect()
  }

  private func isReachable(_ directory: InodeNumber, besides other: InodeNumber) -> Bool {
    var number = directory
    while number != .root {
      guard number != other, let place = tree.places(number).first else { return false }
      number = place.directory
    }
    return true
  }

  private mutating func putFiles() {
    before = tree.tree
    for path in before.keys {
      guard let parent = tree.number(at: ModelPath.parent(path)) else { continue }
      let place = InodeName(directory: parent, name: FileName(ModelPath.name(path)))
      guard let child = tree.child(parent, place.name) else { continue }
      places[path] = (place, child.number)
    }
    let changed = Set(before.keys).union(target.keys).filter { before[$0] != target[$0] }
    var shownAt: [String: String] = [:]
    for (path, shown) in target { if let key = shown.key { shownAt[key] = path } }
    var moved: [String: InodeNumber] = [:]
    for path in changed.sorted() {
      guard let key = before[path]?.key, let other = shownAt[key], other != path else { continue }
      moved[other] = places[path]?.number
    }
    for path in changed.sorted(by: { ModelPath.precedes($1, $0) }) {
      guard let old = before[path], let place = places[path]?.place else { continue }
      if old.isDirectory, target[path]?.isDirectory ?? false { continue }
      tree.remove(place)
    }
    for path in changed.sorted(by: ModelPath.precedes) {
      guard let shown = target[path], let parent = tree.number(at: ModelPath.parent(path)) else {
        continue
      }
      let place = InodeName(directory: parent, name: FileName(ModelPath.name(path)))
      if shown.isDirectory {
        putDirectory(place, path)
      } else {
        putFile(shown, place, path, moved[path] ?? places[path]?.number)
      }
    }
  }

  private func putDirectory(_ place: InodeName, _ path: String) {
    if tree.child(place.directory, place.name) != nil { return }
    let seen = (try? current.inode(at: place, over: record.recorded)) ?? nil
    let number = [directories[path], seen].compactMap(\.self).first {
      $0 != .root && tree.places($0).isEmpty
        && current.nodes[$0]?.isDirectory ?? record.recorded[$0]?.isDirectory ?? false
    }
    guard let number else {
      let new = allot()
      tree.put(ModelTree.Inode(isDirectory: true), new)
      return tree.set(place, new)
    }
    for name in (tree.entries[number] ?? [:]).keys {
      tree.remove(InodeName(directory: number, name: name))
    }
    tree.put(ModelTree.Inode(isDirectory: true), number)
    tree.set(place, number)
  }

  private func putFile(
    _ shown: ModelShown, _ place: InodeName, _ path: String, _ current: InodeNumber?
  ) {
    let inode = ModelTree.Inode(marks: shown.marks, link: shown.link)
    let key = shown.key == path ? nil : shown.key
    var number: InodeNumber?
    if shown.link != nil {
      number = tree.inodes.filter { $0.value == inode && !tree.places($0.key).isEmpty }
        .map(\.key).min()
    }
    if number == nil, let item = files[path], item.marks == shown.marks, item.link == shown.link,
      let own = item.number, tree.places(own).isEmpty
    {
      number = own
    }
    if number == nil, let current, let old = tree[current], !old.isDirectory,
      old.marks == shown.marks, tree.places(current).isEmpty
    {
      number = current
    }
    let chosen = number ?? allot()
    tree.put(inode, chosen)
    tree.set(place, chosen, key: key)
  }
}
