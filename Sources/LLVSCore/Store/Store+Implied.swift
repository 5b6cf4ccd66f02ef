/// Live inode numbers of directories that no entry stands for: versions that were not made through a mount
/// imply them by their keys alone. Kept by path, since there is nothing else to keep them in.
extension Store {
  /// The numbers of directories, in the order of their paths; allots those that have none yet.
  ///
  /// A number once given is a path's for good.
  ///
  /// - Throws: ``StoreError/readOnly`` where the store is open for reading, or what the disk says.
  /// - Complexity: O(log *n*) a path; one commit where any is new.
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
        // Another thread may have been quicker; a number that is not used is lost, of which there are enough.
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

/// What stands for a path where many are kept that begin alike: itself, or its digest where that is shorter.
///
/// The directories that one long key implies would else take the square of its length.
package struct ImpliedName: Hashable, Sendable {
  /// The longest path that is kept as it is.
  private static let pathLimit = 255

  /// The path, or a zero byte, which no name has, and the SHA-256 of it.
  package let bytes: [UInt8]

  package init(_ path: [UInt8]) {
    bytes = path.count <= Self.pathLimit ? path : [0] + Digest.of(path).bytes
  }

  /// Where a path is once directories went from one path to another each: the nearest one above it takes it
  /// along. Nil where none is above it.
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
  /// Forgets the number of a directory that only keys said was there: an entry has it from now on, and whatever
  /// comes to be implied at the path has another.
  package func forgetImplied(_ path: [UInt8]) { forgottenImplied.insert(path) }

  /// Gives the number that a directory's entry had to its path: only keys say that it is there from now on.
  package func setImplied(_ path: [UInt8], _ inode: UInt64) { impliedNumbers[path] = inode }

  /// Has the directories that only keys say are there keep their numbers below those that went elsewhere.
  package func moveImplied(_ moves: [[UInt8]: [UInt8]]) { movedAboveImplied = moves }
}

extension Catalog {
  func impliedInode(_ path: [UInt8], in database: StoreDatabase) throws(StoreError) -> UInt64? {
    let name = ImpliedName(path).bytes
    if let inode = try impliedInode(named: name, in: database) { return inode }
    // Stores have long paths too, from before they were kept by their digests.
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

  /// Gives the numbers of what is below directories that went elsewhere to the paths where it is now. What has
  /// a long path is not found, and gets another number.
  ///
  /// - Complexity: O(log *n*) a directory that went, and a number below it.
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
    // They may change places.
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
