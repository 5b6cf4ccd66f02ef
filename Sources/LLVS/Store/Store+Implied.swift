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
}

extension WriteTransaction {
  /// Forgets the number of a directory that only keys said was there: an entry has it from now on, and whatever
  /// comes to be implied at the path has another.
  package func forgetImplied(_ path: [UInt8]) { forgottenImplied.insert(path) }
}

extension Catalog {
  func impliedInode(_ path: [UInt8], in database: Database) throws(StoreError) -> UInt64? {
    let name = ImpliedName(path).bytes
    if let inode = try impliedInode(named: name, in: database) { return inode }
    // Stores have long paths too, from before they were kept by their digests.
    return name == path ? nil : try impliedInode(named: path, in: database)
  }

  private func impliedInode(
    named name: [UInt8], in database: Database
  ) throws(StoreError) -> UInt64? {
    let statement = try database.prepared("SELECT inode FROM implied WHERE path = ?").bind(1, name)
    defer { statement.reset() }
    return try statement.step() ? UInt64(bitPattern: statement.integer(0)) : nil
  }

  func forgetImplied(_ path: [UInt8], in database: Database) throws(StoreError) {
    for name in Set([ImpliedName(path).bytes, path]) {
      try database.prepared("DELETE FROM implied WHERE path = ?").bind(1, name).run()
    }
  }

  func setImpliedInode(
    _ path: [UInt8], _ inode: UInt64, in database: Database
  ) throws(StoreError) {
    try database.prepared("INSERT INTO implied VALUES(?1,?2,llvs_sum(?1,?2))")
      .bind(1, ImpliedName(path).bytes).bind(2, Int64(bitPattern: inode)).run()
  }
}
