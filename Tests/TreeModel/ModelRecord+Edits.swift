import Inodes
import WorkingTree

extension ModelRecord {
  /// The map that items make of a predecessor's map.
  package func applied(_ items: [ModelItem], to map: ModelMap) -> ModelMap {
    var edit = ModelEdit(map)
    for item in items {
      switch item.kind {
      case .remove, .move, .make: edit.remove(item.path)
      case .put where edit.shown[item.path]?.isDirectory ?? false: edit.remove(item.path)
      case .put, .exclude: break
      }
    }
    let puts = items.filter { $0.kind == .put }
    for item in items where item.kind == .move { copy(item, puts, &edit) }
    for item in items where item.kind == .make { edit.result[item.path + "/"] = .directory }
    let changed = Set(items.filter { $0.kind == .put || $0.kind == .remove }.map(\.path))
    for item in puts { edit.keepDisplaced(at: item.path, changed) }
    for item in puts {
      var key = edit.key(at: item.path)
      // Another file takes the name that a displaced value would have had.
      if key != item.path, puts.contains(where: { $0.path == key }) { key = item.path }
      edit.result[key] = ModelValue(marks: item.marks, link: item.link)
    }
    keepDirectories(items, &edit)
    return edit.result
  }

  /// Copies what a moved directory has in the predecessor, but for names that changes decide.
  private func copy(_ item: ModelItem, _ puts: [ModelItem], _ edit: inout ModelEdit) {
    guard let number = item.number else { return }
    let (from, to) = (item.source, item.path)
    if edit.map[from + "/"] != nil { edit.result[to + "/"] = .directory }
    for (path, shown) in edit.shown where path.hasPrefix(from + "/") {
      let below = String(path.dropFirst(from.count + 1))
      if isExcluded(below, in: number) { continue }
      if let key = shown.key {
        let isPlain = key.hasPrefix(from + "/")
        var new = isPlain ? to + key.dropFirst(from.count) : ModelPath.join(to, below)
        // Beside a file that took its own name a displaced value goes on under the one that it is shown by.
        if puts.contains(where: { $0.path == new }) { new = ModelPath.join(to, below) }
        edit.result[new] = edit.map[key]
      } else if edit.map[path + "/"] != nil {
        edit.result[ModelPath.join(to, below) + "/"] = .directory
      }
    }
  }

  private func isExcluded(_ path: String, in directory: InodeNumber) -> Bool {
    var directory = directory
    for name in path.split(separator: "/") {
      let name = FileName(Array(name.utf8))
      if excluded[directory]?.contains(name) ?? false { return true }
      guard let child = recorded.child(directory, name)?.number else { return false }
      directory = child
    }
    return false
  }

  /// A removal never takes the directory that it is in.
  private func keepDirectories(_ items: [ModelItem], _ edit: inout ModelEdit) {
    let old = edit.map.directories
    var gone = Set(items.filter { $0.kind == .remove }.map(\.path))
    let sources = items.filter { $0.kind == .move }.map(\.source)
    gone.formUnion(sources)
    gone.subtract(items.filter { $0.kind == .move || $0.kind == .make }.map(\.path))
    gone.formUnion(items.filter { $0.kind == .put }.map(\.path))
    for item in items {
      let above: String
      switch item.kind {
      case .remove, .exclude: above = ModelPath.parent(item.path)
      case .move:
        above = ModelPath.parent(item.source)
        if sources.contains(where: { ModelPath.isAtOrBelow(above, $0) }) { continue }
      case .make, .put: continue
      }
      if above.isEmpty || edit.result.directories.contains(above) { continue }
      if item.kind != .exclude && !old.contains(above) { continue }
      var path = above
      while !path.isEmpty, !gone.contains(path) { path = ModelPath.parent(path) }
      if path.isEmpty { edit.result[above + "/"] = .directory }
    }
  }
}

/// A map that becomes another.
package struct ModelEdit {
  package let map: ModelMap
  package let shown: [String: ModelShown]
  package var result: ModelMap

  package init(_ map: ModelMap) {
    self.map = map
    shown = map.tree
    result = map
  }

  package func key(at path: String) -> String { shown[path]?.key ?? path }

  /// Removes what a path shows: of a directory all below it, but not a value of its name.
  package mutating func remove(_ path: String) {
    guard let found = shown[path] else { return }
    if let key = found.key {
      result[key] = nil
    } else {
      for key in result.keys where key.hasPrefix(path + "/") { result[key] = nil }
    }
  }

  /// A file that takes a directory's name takes the key of the value behind it, which goes on under the name
  /// that it is shown by.
  package mutating func keepDisplaced(at path: String, _ changed: Set<String>) {
    let key = key(at: path)
    guard key == path, map[key] != nil, result[key] != nil else { return }
    guard let other = shown.first(where: { $0.value.key == key })?.key, other != path,
      !changed.contains(other)
    else { return }
    result[other] = map[key]
  }
}
