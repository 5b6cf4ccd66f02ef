/// Inode numbers, in the live tree, of directories without an entry: in versions that were not made
/// through a mount they exist because of the keys below them. The numbers are kept by path, as
/// there is no entry for them.
extension Store {
  /// Returns the numbers of directories, in the order of their paths; allocates missing ones.
  ///
  /// A path keeps its number for good.
  ///
  /// - Throws: ``StoreError/readOnly`` if a number is missing and the store is open for reading;
  ///   errors of the catalog.
  /// - Complexity: O(log *n*) for each path; one commit if any number is new.
  package func inodes(ofImplied paths: [[UInt8]]) throws(StoreError) -> [UInt64] {
    let known = try catalog.read { (database) throws(StoreError) in
      try paths.map { (path) throws(StoreError) in
        try catalog.impliedInode(path, in: database)
      }
    }
    let missing = known.count { $0 == nil }
    guard missing > 0 else { return known.map { $0 ?? 0 } }
    guard mode == .writer else { throw .readOnly }
    let first = try allotInodes(UInt64(missing))
    return try catalog.write { (database) throws(StoreError) in
      var next = first
      var numbers: [UInt64] = []
      for path in paths {
        // Another thread may have been faster; an unused number is lost, which does no harm.
        if let there = try catalog.impliedInode(path, in: database) {
          numbers.append(there)
          continue
        }
        try catalog.setImpliedInode(path, next, in: database)
        numbers.append(next)
        next += 1
      }
      return numbers
    }
  }
}

/// A short name for a path: the path itself, or its digest if that is shorter.
///
/// Otherwise the directories above one long key would take the square of its length.
package struct ImpliedName: Hashable, Sendable {
  /// The longest path that is kept as it is.
  private static let pathLimit = 255

  /// The path, or a zero byte, which no path contains, and the path's SHA-256.
  package let bytes: [UInt8]

  /// Creates the name of a path.
  package init(_ path: [UInt8]) {
    bytes = path.count <= Self.pathLimit ? path : [0] + Digest.of(path).bytes
  }

  /// Returns the new path of something below a directory that was moved: of several moved
  /// directories above it the nearest counts. Nil if none of them was moved.
  package static func moved(_ path: [UInt8], by moves: [[UInt8]: [UInt8]]) -> [UInt8]? {
    var above = path[...]
    while let slash = above.lastIndex(of: 0x2F) {
      above = above[..<slash]
      if let new = moves[Array(above)] { return new + path[slash...] }
    }
    return nil
  }
}

extension WriteTransaction {
  /// Removes the number of a directory without an entry: it has an entry from now on, and a
  /// directory without one that comes to be at the path later gets another number.
  package func forgetImplied(_ path: [UInt8]) { forgottenImplied.insert(path) }

  /// Records the number that a directory's entry had for its path: it has no entry from now on.
  package func setImplied(_ path: [UInt8], _ inode: UInt64) { impliedNumbers[path] = inode }

  /// Moves the numbers of directories without entries along with the moved directories above them.
  package func moveImplied(_ moves: [[UInt8]: [UInt8]]) { movedAboveImplied = moves }
}

extension Catalog {
  func impliedInode(_ path: [UInt8], in database: StoreDatabase) throws(StoreError) -> UInt64? {
    let name = ImpliedName(path).bytes
    if let inode = try impliedInode(named: name, in: database) { return inode }
    // Older stores have long paths too, not their digests.
    return name == path ? nil : try impliedInode(named: path, in: database)
  }

  private func impliedInode(
    named name: [UInt8], in database: StoreDatabase
  ) throws(StoreError) -> UInt64? {
    let statement = try database.prepared("SELECT inode FROM implied WHERE path = ?").bind(1, name)
    defer { statement.reset() }
    return try statement.step() ? UInt64(bitPattern: statement.integer(0)) : nil
  }

  func forgetImplied(_ path: [UInt8], in database: StoreDatabase) throws(StoreError) {
    for name in Set([ImpliedName(path).bytes, path]) {
      try database.prepared("DELETE FROM implied WHERE path = ?").bind(1, name).run()
    }
  }

  /// Moves the numbers of directories below moved ones to their new paths. Directories with long
  /// paths are not found and get other numbers.
  ///
  /// - Complexity: O(log *n*) for each moved directory and each number below it.
  func moveImplied(
    below moves: [[UInt8]: [UInt8]], in database: StoreDatabase
  ) throws(StoreError) {
    var found: [[UInt8]: (new: [UInt8], inode: UInt64)] = [:]
    for from in moves.keys {
      let statement = try database.prepared(
        "SELECT path, inode FROM implied WHERE path > ?1 AND path < ?2"
      ).bind(1, from + [0x2F]).bind(2, from + [0x30])
      defer { statement.reset() }
      while try statement.step() {
        let path = statement.bytes(0)
        guard let new = ImpliedName.moved(path, by: moves) else { continue }
        found[path] = (new, UInt64(bitPattern: statement.integer(1)))
      }
    }
    // Two of them may swap their paths.
    for path in found.keys { try forgetImplied(path, in: database) }
    for item in found.values {
      try forgetImplied(item.new, in: database)
      try setImpliedInode(item.new, item.inode, in: database)
    }
  }

  func setImpliedInode(
    _ path: [UInt8], _ inode: UInt64, in database: StoreDatabase
  ) throws(StoreError) {
    try database.prepared("INSERT INTO implied VALUES(?1,?2,llvs_sum(?1,?2))")
      .bind(1, ImpliedName(path).bytes).bind(2, Int64(bitPattern: inode)).run()
  }
}
