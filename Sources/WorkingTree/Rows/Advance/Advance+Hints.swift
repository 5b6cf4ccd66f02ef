import Inodes
import LLVSCore
import TreeNames

// Giving the rows the working tree's numbers.

extension Advance {
  /// Gives a hinted file's number to its names in the working tree alone: other names in the rows get another,
  /// unless they are still the same file's. So does a name at which the head has other bytes than the cut took,
  /// even if the rows have them already.
  func splitMovedFiles() throws {
    // Directories do not move in the meantime.
    var directories: [InodeNumber: TreePath] = [.root: .root]
    for file in hints.files {
      guard let row = try rows.inode(file.number), row.place != nil, !row.inode.record.isDirectory
      else { continue }
      let linkID = row.inode.record.attributes.linkID
      let now = try linkID == nil ? nil : value(at: file.paths)
      let left = try rows.places(of: row, file.number).filter { place in
        let path = try path(of: place, &directories)
        if file.paths.contains(path) {
          guard hints.own != nil, let there = try value(at: [path]) else { return false }
          return !file.isFile(FileIdentity(there))
        }
        guard linkID != nil else { return true }
        guard let there = try value(at: [path]) else { return false }
        return there.attributes != now?.attributes
          || FileIdentity(there) != now.map(FileIdentity.init)
      }
      guard !left.isEmpty else { continue }
      let number = try numbers.number()
      try rows.insert(row.inode.record, at: number)
      for place in left {
        let name = try rows.name(at: place)
        let key = try rows.child(of: place.parent, named: name)?.key
        try noteChange(of: name, in: place.parent, from: file.number)
        if try rows.setEntry(at: place, from: file.number, to: number, key: key) {
          nameless.insert(file.number)
        }
      }
    }
  }

  /// Returns the entry of the first of some paths at which the head has a file.
  func value(at paths: [TreePath]) throws -> Entry? {
    for path in paths {
      if case .value(let entry)? = try after.find(path: path.bytes) { return entry }
    }
    return nil
  }

  func path(of place: InodePlace) throws -> TreePath {
    var names = [try rows.name(at: place)]
    var directory = place.parent
    while directory != .root {
      guard let above = try rows.inode(directory)?.place, names.count <= 4096 else {
        throw rows.damaged("a directory is not below the root")
      }
      names.append(try rows.name(at: above))
      directory = above.parent
    }
    return names.reversed().reduce(TreePath.root) { $0.appending($1) }
  }

  /// Returns the path of a name; finds each directory's once.
  private func path(
    of place: InodePlace, _ known: inout [InodeNumber: TreePath]
  ) throws -> TreePath {
    let name = try rows.name(at: place)
    if let above = known[place.parent] { return above.appending(name) }
    let path = try path(of: place)
    known[place.parent] = path.parent
    return path
  }

  /// Moves directories to where the working tree has them, if the head has directories there.
  func moveDirectories() throws {
    var moves: [(path: TreePath, number: InodeNumber)] = []
    for (path, number) in hints.directories.sorted(by: { $0.key < $1.key }) {
      guard let row = try rows.inode(number), let place = row.place,
        row.inode.record.isDirectory, try after.find(path: path.bytes)?.isDirectory == true
      else { continue }
      let old = try self.path(of: place)
      // Under an equal path it may be in another directory.
      let parent = hints.directories[path.parent] ?? place.parent
      guard old != path || parent != place.parent else { continue }
      moves.append((path, number))
      roots.insert(old)
      roots.insert(path)
    }
    for (_, number) in moves {
      guard let place = try rows.inode(number)?.place else { continue }
      try take(number, from: place, isDirectory: true)
    }
    known.removeAll()
    // A directory is replaced after the one above it has moved, and before others move into it.
    var replaced = hints.replacing.sorted()[...]
    for (path, number) in moves {
      while let next = replaced.first, next <= path {
        replaced.removeFirst()
        try replaceDirectory(at: next)
      }
      guard let parent = try makeDirectory(at: path.parent), try isReachable(parent) else {
        continue
      }
      if let old = try rows.child(of: parent, named: path.name) {
        try take(
          old.inode.number, from: InodePlace(parent: parent, cookie: old.cookie),
          isDirectory: old.inode.record.isDirectory)
        known.removeAll()
      }
      try add(number, path.name, in: parent, isDirectory: true, key: nil)
      remember(number, at: path)
    }
    for path in replaced { try replaceDirectory(at: path) }
  }

  /// Gives a new directory its number where the rows have another, even if the maps do not differ, and compares its
  /// contents.
  private func replaceDirectory(at path: TreePath) throws {
    guard let number = hints.directories[path], let old = try directory(at: path), old != number,
      try rows.inode(number) == nil, let place = try rows.inode(old)?.place,
      case .directory(let entry)? = try after.find(path: path.bytes)
    else { return }
    roots.insert(path)
    try take(old, from: place, isDirectory: true)
    known.removeAll()
    try putDirectory(entry, at: path, in: place.parent, nil)
  }

  /// Returns the directory at a path, made if the head has one there, so that another can move into it; nil if not.
  private func makeDirectory(at path: TreePath) throws -> InodeNumber? {
    if let number = try directory(at: path) { return number }
    guard case .directory(let entry)? = try after.find(path: path.bytes),
      let parent = try makeDirectory(at: path.parent)
    else { return nil }
    roots.insert(path)
    if let old = try rows.child(of: parent, named: path.name) {
      try take(
        old.inode.number, from: InodePlace(parent: parent, cookie: old.cookie), isDirectory: false)
    }
    try putDirectory(entry, at: path, in: parent, nil)
    return try directory(at: path)
  }

  /// True if a directory is below the root: a moved one may be about to contain itself.
  func isReachable(_ directory: InodeNumber) throws -> Bool {
    var number = directory
    var depth = 0
    while number != .root {
      guard let place = try rows.inode(number)?.place, depth <= 4096 else { return false }
      number = place.parent
      depth += 1
    }
    return true
  }

  func topmostRoots() -> [TreePath] {
    let all = roots
    return all.filter { root in
      var above = root
      while !above.isRoot {
        above = above.parent
        if all.contains(above) { return false }
      }
      return true
    }.sorted()
  }

  func isBelowRoot(_ path: TreePath) -> Bool {
    guard !roots.isEmpty else { return false }
    var path = path
    while !path.isRoot {
      if roots.contains(path) { return true }
      path = path.parent
    }
    return false
  }

  /// Gives files that the cut took their numbers, where the map did not change too.
  func placeHintedFiles() throws {
    for file in hints.files where file.linkID == nil && file.paths.count == 1 {
      let path = file.paths[0]
      guard try isNameless(file.number), let parent = try directory(at: path.parent),
        let old = try rows.child(of: parent, named: path.name), old.inode.links == 1,
        old.inode.record.attributes.linkID == nil, file.isFile(FileIdentity(old.inode.record))
      else { continue }
      try replace(old, at: path, in: parent, by: file.number, old.inode.record, key: old.key)
    }
  }
}
