package import Inodes
package import LLVSCore
import Platform
import SQLite
import TreeNames

extension RecordedTree {
  /// The way in which the tree was opened.
  package enum Opening: Hashable, Sendable {
    /// The rows were those of the head.
    case current
    /// The rows were those of another version and now are the head's.
    case advanced
    /// The rows were made from the head's map, for this reason.
    case built(String)
  }

  /// The store whose tree is opened.
  package struct Origin {
    /// Its id, 16 bytes.
    package var storeID: [UInt8]
    /// The head.
    package var head: TreeHead
    /// The store's inode numbers.
    package var numbers: NumberSource
    /// Returns the map of a version with this root; nil if the store has none.
    package var map: (Version.ID?, MapRoot) throws(StoreError) -> ValueMap?
    /// Returns the time at which a version came to this store; for nil the time at which the store
    /// was made.
    package var time: @Sendable (VersionNumber?) -> Attributes.Time
    /// The clock's time.
    package var now: Attributes.Time

    package init(
      storeID: [UInt8], head: TreeHead, numbers: NumberSource,
      map: @escaping (Version.ID?, MapRoot) throws(StoreError) -> ValueMap?,
      time: @escaping @Sendable (VersionNumber?) -> Attributes.Time, now: Attributes.Time
    ) {
      self.storeID = storeID
      self.head = head
      self.numbers = numbers
      self.map = map
      self.time = time
      self.now = now
    }
  }

  /// Opens the tree of a store's head. Rows of another store, of a version that the store does not
  /// have, or that are damaged are removed and made again.
  ///
  /// - Throws: ``BaseError/store(_:)`` if the head's map cannot be read, ``BaseError/system(_:)`` if
  ///   the file cannot be written.
  /// - Complexity: O(1) for the head's rows; O(*k* log *n*) for those of a version that differs in *k*
  ///   paths; O(*n*) for new ones.
  package static func open(
    at path: String, for origin: Origin
  ) throws(BaseError) -> (tree: RecordedTree, opening: Opening) {
    do throws(BaseError) {
      let tree = try openPresent(path, origin)
      return (tree, try tree.advance(to: origin) ? .advanced : .current)
    } catch {
      guard case .damaged(let reason) = error else { throw error }
      return (try rebuild(at: path, for: origin), .built(reason))
    }
  }

  /// Makes the rows again from the head's map; for rows of which a call said that they are damaged.
  /// Nobody may have the old ones open.
  ///
  /// - Complexity: O(*n*).
  package static func rebuild(
    at path: String, for origin: Origin
  ) throws(BaseError) -> RecordedTree {
    try TreeDatabase.remove(path)
    return try build(path, origin)
  }

  /// Returns the greatest inode number in a store's file of rows; nil if there are none that can be read.
  ///
  /// - Complexity: one look-up.
  package static func greatestNumber(
    at path: String, of storeID: [UInt8]
  ) throws(BaseError) -> InodeNumber? {
    do throws(BaseError) {
      guard try accessing({ try FileSystem.exists(path) }) else { return nil }
      let database = try TreeDatabase.writer(path)
      guard let state = try TreeRows.state(database), state.storeID == storeID else { return nil }
      return try accessing { try TreeRows(database, hashKey: state.hashKey).lastNumber() }
    } catch {
      guard case .damaged = error else { throw error }
      return nil
    }
  }

  /// Removes a file of rows, which no power failure brings back.
  package static func remove(_ path: String) throws(BaseError) {
    try TreeDatabase.remove(path)
    try accessing { try FileSystem.syncDirectory(FileSystem.directory(of: path)) }
  }

  /// Opens the rows that are there, whichever version they show.
  ///
  /// - Throws: ``BaseError/damaged(_:)`` for none, or those of another store.
  package static func openPresent(
    _ path: String, _ origin: Origin
  ) throws(BaseError) -> RecordedTree {
    let database = try TreeDatabase.writer(path)
    guard let state = try TreeRows.state(database) else { throw .damaged("\(path) has no rows") }
    guard state.storeID == origin.storeID else { throw .damaged("\(path) is of another store") }
    let rows = TreeRows(database, hashKey: state.hashKey)
    try accessing { try rows.knowGreatest() }
    return RecordedTree(path: path, rows: rows, state: state, time: origin.time)
  }

  /// Lets the rows show a head; `hints` are the numbers that the working tree has for what it brings.
  ///
  /// - Returns: false if they show it already.
  /// - Throws: ``BaseError/damaged(_:)`` if they cannot become the head's.
  /// - Complexity: as ``open(at:for:)``.
  @discardableResult
  package func advance(
    to origin: Origin, hints: NumberHints = NumberHints()
  ) throws(BaseError) -> Bool {
    let (head, state) = (origin.head, state)
    if state.version == head.version, state.root == head.view.map.root, state.cut == head.cut {
      return false
    }
    guard let map = try accessing({ try origin.map(state.version, state.root) }) else {
      throw .damaged("\(path) shows a version that the store does not have")
    }
    try prepare(
      head, from: TreeView(map: map), hints: hints, numbers: origin.numbers, now: origin.now)
    try publish()
    return true
  }

  private static func build(_ path: String, _ origin: Origin) throws(BaseError) -> RecordedTree {
    let database = try TreeDatabase.writer(path)
    var state = RecordedState(
      storeID: origin.storeID, cut: origin.head.cut, version: origin.head.version,
      root: origin.head.view.map.root)
    let rows = TreeRows(database, hashKey: state.hashKey)
    do throws(BaseError) {
      try accessing {
        try database.prepared("BEGIN IMMEDIATE").run()
        try rows.removeAll()
        var build = TreeBuild(
          rows: rows, view: origin.head.view, numbers: origin.numbers, time: origin.time)
        try build.run()
        try rows.setRoot(origin.head.root)
        (state.values, state.directories) = (build.values, build.directories)
        try rows.set(state)
        try database.prepared("COMMIT").run()
        try rows.knowGreatest()
      }
    } catch {
      database.rollBack()
      throw error
    }
    database.checkpoint()
    return RecordedTree(path: path, rows: rows, state: state, time: origin.time)
  }
}
