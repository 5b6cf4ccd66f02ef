import LLVS

/// The nearest directory above a place that an entry stands for.
struct DirectoryAbove {
  var inode: UInt64
  /// How long its path is: a beginning of the place's.
  var length: Int

  static let root = DirectoryAbove(inode: LiveTree.rootInode, length: 0)
}

/// Finds the directories of a map that paths are in; quick for paths in order.
struct DirectoriesAbove {
  private let view: TreeView
  private var last: (path: [UInt8], found: DirectoryAbove, isThere: Bool)?

  init(in view: TreeView) { self.view = view }

  /// The directory that holds what is at `path`, or the nearest above it that has an entry.
  ///
  /// - Complexity: O(log *n*) for each name of the path that has none, as a rule once.
  mutating func holding(_ path: [UInt8]) throws(StoreError) -> DirectoryAbove {
    try nearest(to: Self.above(path))
  }

  private mutating func nearest(to path: [UInt8]) throws(StoreError) -> DirectoryAbove {
    if path.isEmpty { return .root }
    if let last, last.path == path || isBelowNothing(path) { return last.found }
    let there = try view.find(path: path)
    let found: DirectoryAbove
    if case .directory(let entry?)? = there, entry.inode != 0 {
      found = DirectoryAbove(inode: entry.inode, length: path.count)
    } else {
      found = try nearest(to: Self.above(path))
      if isBelowNothing(path) { return found }
    }
    last = (path, found, there != nil)
    return found
  }

  /// Whether what was looked for last is not there, and `path` would be in it.
  private func isBelowNothing(_ path: [UInt8]) -> Bool {
    guard let last, !last.isThere, path.count > last.path.count else { return false }
    return path[last.path.count] == 0x2F && path.starts(with: last.path)
  }

  private static func above(_ path: [UInt8]) -> [UInt8] {
    path.lastIndex(of: 0x2F).map { Array(path[..<$0]) } ?? []
  }
}
