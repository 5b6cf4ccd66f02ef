import Inodes
import LLVSCore
import TreeNames

// Every inode that is made or moved has a path that a version can hold.

/// A directory that moves to a deeper or longer path, with its contents.
struct Descent {
  let directory: InodeNumber
  /// Its new path's extent.
  let path: PathExtent
}

extension WorkingTree {
  /// Limit on the names checked below a renamed directory. The next cut reports paths that are too long beyond it.
  private static let looksAtMost = 1 << 16

  /// Throws ``FSError/nameTooLong`` if no version can hold the path of a name, in O(depth); with the lock held.
  @inline(__always)
  func checkReach(_ place: InodeName, _ state: TreeState, _ base: RememberedBase) throws(FSError) {
    guard PathLimit.allows(try extent(of: place, state, base)) else { throw .nameTooLong }
  }

  @inline(__always)
  private func extent(
    of place: InodeName, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> PathExtent {
    var extent = PathExtent(name: place.name.bytes)
    for above in try directories(above: place.directory, state, base) {
      extent = PathExtent(name: above.name.bytes).adding(extent)
    }
    return extent
  }

  /// Returns what to check before an inode moves; nil for a file or a path that is not longer. With the lock held.
  func descent(
    of number: InodeNumber, from old: InodeName, to new: InodeName, _ state: TreeState,
    _ base: RememberedBase
  ) throws(FSError) -> Descent? {
    guard try kind(of: number, state, base) == .directory else { return nil }
    let before = try extent(of: old, state, base)
    let after = try extent(of: new, state, base)
    guard after.names > before.names || after.bytes > before.bytes else { return nil }
    return Descent(directory: number, path: after)
  }

  /// Throws ``FSError/nameTooLong`` if no version can hold the paths in a directory, in O(*n*) for *n* names below
  /// it; without the lock, because it reads the recorded tree.
  func check(_ descent: Descent) throws(FSError) {
    let overlay = state { $0.overlay }
    var looked = 0
    var open = [(number: descent.directory, path: descent.path)]
    while let (directory, path) = open.popLast() {
      let changed = overlay.changedNames(of: directory)
      for name in changed {
        let place = InodeName(directory: directory, name: name)
        guard case .pending(let number?) = overlay.shown(at: place) else { continue }
        let below = path.adding(PathExtent(name: name.bytes))
        guard PathLimit.allows(below) else { throw .nameTooLong }
        if overlay.nodes.kind(of: number) == .directory { open.append((number, below)) }
      }
      var cookie = EntryCookie.start
      while looked < Self.looksAtMost {
        let page = try FSError.translating(
          try base.page(of: directory, after: cookie, limit: Self.pageSize))
        looked += page.count
        for entry in page where !changed.contains(entry.name) {
          let below = path.adding(PathExtent(name: entry.name.bytes))
          guard PathLimit.allows(below) else { throw .nameTooLong }
          if entry.inode.record.isDirectory { open.append((entry.inode.number, below)) }
        }
        guard page.count == Self.pageSize, let last = page.last else { break }
        cookie = last.cookie
      }
    }
  }
}
