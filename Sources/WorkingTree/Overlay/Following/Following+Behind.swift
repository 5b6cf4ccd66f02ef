import Inodes
import LLVSCore

// Pending changes whose base a new head changed stay on the version before it (docs/writes.md, rule 7).

extension Following {
  /// Finds pending names whose base the new head changed. A name has up to three paths (shown, at the cut's
  /// instant, recorded), and the version before the head has it at one of them.
  mutating func findBehind() throws(StoreError) {
    guard !head.changed.isEmpty else { return }
    var paths = PlacePaths(overlay: overlay, frozen: head.frozen, base: base, changed: head.changed)
    for place in places { try findBehind(at: place, &paths) }
    // Outside the scope, changes below unchanged paths cannot be behind: recorded directories are in the scope.
    for directory in scope == nil ? [] : Array(overlay.changes.directories.keys) {
      guard try !paths.paths(of: directory).isEmpty else { continue }
      for name in overlay.changedNames(of: directory) {
        try findBehind(at: InodeName(directory: directory, name: name), &paths)
      }
    }
    for number in numbers {
      guard let node = overlay.nodes.node(number), node.isPending else { continue }
      for name in node.names where !behind.contains(name) {
        if try paths.paths(of: name).contains(where: head.changed.contains) { behind.insert(name) }
      }
    }
  }

  private mutating func findBehind(
    at place: InodeName, _ known: inout PlacePaths
  ) throws(StoreError) {
    guard let change = overlay.changes[place] else { return }
    let takesDirectory = change.hidesDirectory || change.isDirectory
    var paths = try known.paths(of: place)
    // A directory that moved takes along everything below its old place.
    if change.isDirectory, let number = change.inode, let old = try known.recorded(number) {
      paths.append(old)
    }
    let isBehind = paths.contains {
      head.changed.contains($0) || takesDirectory && head.changed.containsBelow($0)
    }
    if isBehind { behind.insert(place) }
  }

  /// The epoch of the version that took what programs saw at a name before the head.
  func epochBefore(_ place: InodeName) -> Epoch {
    head.taken?.epoch(at: place, in: head.frozen ?? original) ?? before
  }

  /// Sets the epoch of names that are behind to the one before the head.
  mutating func pinNames() {
    for place in behind {
      guard var change = overlay.changes[place], !change.isHeld else { continue }
      let before = epochBefore(place)
      change.on = change.on ?? before
      change.other = change.other.map { NameChange.Other(on: $0.on ?? before) }
      overlay.setChange(change, at: place)
    }
  }

  /// Sets the epoch of pending bytes and attributes at names that are behind to the one before the head.
  mutating func pinNodes() throws(StoreError) {
    for place in behind where overlay.changes[place] == nil {
      guard let number = try overlay.inode(at: place, over: base),
        var node = overlay.nodes[number], node.isPending
      else { continue }
      let before = epochBefore(place)
      node.on = node.on ?? before
      if let saved = node.file?.saved { node.file?.saved?.on = saved.on ?? before }
      if let counted = node.file?.counted { node.file?.counted?.on = counted.on ?? before }
      overlay.nodes[number] = node
    }
  }
}

/// The paths of names in versions before a head, where the head changed something below the directory.
private struct PlacePaths {
  private static let mostAbove = 4096
  let overlay: Overlay
  let frozen: Overlay?
  let base: any Base
  let changed: ChangedPaths
  private var known: [InodeNumber: [TreePath]] = [.root: [.root]]

  init(overlay: Overlay, frozen: Overlay?, base: any Base, changed: ChangedPaths) {
    (self.overlay, self.frozen, self.base) = (overlay, frozen, base)
    self.changed = changed
  }

  mutating func paths(of place: InodeName) throws(StoreError) -> [TreePath] {
    try paths(of: place.directory).map { $0.appending(place.name) }
  }

  mutating func paths(of directory: InodeNumber) throws(StoreError) -> [TreePath] {
    if let paths = known[directory] { return paths }
    var paths: [TreePath] = []
    for path in [
      overlay.path(of: directory), frozen?.path(of: directory), try recorded(directory),
    ] { if let path, changed.containsBelow(path), !paths.contains(path) { paths.append(path) } }
    known[directory] = paths
    return paths
  }

  /// The path of a directory in the recorded tree before the head, as far as the overlay knows.
  func recorded(_ directory: InodeNumber) throws(StoreError) -> TreePath? {
    var names: [FileName] = []
    var number = directory
    while number != .root {
      guard names.count < Self.mostAbove else { return nil }
      let place: InodeName?
      if let known = overlay.nodes[number]?.recordedNames {
        place = known.first
      } else {
        place = try base.names(of: number).first
      }
      guard let place else { return nil }
      names.append(place.name)
      number = place.directory
    }
    return names.reversed().reduce(TreePath.root) { $0.appending($1) }
  }
}
