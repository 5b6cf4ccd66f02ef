package import Inodes
package import LLVSCore
import Platform
import SQLite
import TreeNames

extension RecordedTree {
  package enum Opening: Hashable, Sendable {
    case current
    /// The rows were another version's and now are the head's.
    case advanced
    /// The rows were made from the head's map, for this reason.
    case built(String)
  }

  /// The store whose tree is opened.
  package struct Origin {
    /// 16 bytes.
    package var storeID: [UInt8]
    package var head: TreeHead
    package var numbers: NumberSource
    /// Returns the map of a version with this root; nil if the store has none.
    package var map: (Version.ID?, MapRoot) throws(StoreError) -> ValueMap?
    /// Returns the time at which a version came to this store; for nil, at which the store was made.
    package var time: @Sendable (VersionNumber?) -> Attributes.Time
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

  /// Opens the tree of a store's head. Rows that are damaged, of another store or of an unknown version are made
  /// again.
  ///
  /// Takes O(1) for the head's rows, O(*k* log *n*) for those of a version that differs in *k* paths, O(*n*) for
  /// new ones.
  ///
  /// - Throws: an error of the store if the head's map cannot be read, ``StoreError/system(_:)`` if the file
  ///   cannot be written.
  package static func open(
    at path: String, for origin: Origin
  ) throws(StoreError) -> (tree: RecordedTree, opening: Opening) {
    do throws(StoreError) {
      let tree = try openPresent(path, origin)
      return (tree, try tree.advance(to: origin) ? .advanced : .current)
    } catch {
      guard case .rebuildable(let reason) = error else { throw error }
      return (try rebuild(at: path, for: origin), .built(reason))
    }
  }

  /// Makes damaged rows again from the head's map, in O(*n*); no process may have the old ones open.
  package static func rebuild(
    at path: String, for origin: Origin
  ) throws(StoreError) -> RecordedTree {
    try TreeDatabase.remove(path)
    let database = try TreeDatabase.writer(path)
    var state = RecordedState(
      storeID: origin.storeID, cut: origin.head.cut, version: origin.head.version,
      root: origin.head.view.map.root)
    let rows = TreeRows(database, hashKey: state.hashKey)
    try accessing(database) {
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
    database.checkpoint()
    return RecordedTree(path: path, rows: rows, state: state, time: origin.time)
  }

  /// Returns the greatest inode number in a store's file of rows, by one look-up; nil without readable rows.
  package static func greatestNumber(
    at path: String, of storeID: [UInt8]
  ) throws(StoreError) -> InodeNumber? {
    try reading(path, of: storeID) { (database, state) throws(StoreError) in
      try accessing { try TreeRows(database, hashKey: state.hashKey).lastNumber() }
    }
  }

  /// Returns the number of the cut that a store's file of rows shows; nil without readable rows.
  package static func cut(at path: String, of storeID: [UInt8]) throws(StoreError) -> UInt64? {
    try reading(path, of: storeID) { _, state in UInt64(clamping: state.cut) }
  }

  /// Reads a store's file of rows; nil if it is not there, or cannot be read.
  private static func reading<Answer>(
    _ path: String, of storeID: [UInt8],
    _ body: (Database, RecordedState) throws(StoreError) -> Answer?
  ) throws(StoreError) -> Answer? {
    do throws(StoreError) {
      guard try accessing({ try FileSystem.exists(path) }) else { return nil }
      let database = try TreeDatabase.writer(path)
      guard let state = try TreeRows.state(database), state.storeID == storeID else { return nil }
      return try body(database, state)
    } catch {
      guard case .rebuildable = error else { throw error }
      return nil
    }
  }

  /// Removes a file of rows durably.
  package static func remove(_ path: String) throws(StoreError) {
    try TreeDatabase.remove(path)
    try accessing { try FileSystem.syncDirectory(FileSystem.directory(of: path)) }
  }

  /// Opens the existing rows of any version; throws ``StoreError/rebuildable(_:)`` for none or another store's.
  package static func openPresent(
    _ path: String, _ origin: Origin
  ) throws(StoreError) -> RecordedTree {
    let database = try TreeDatabase.writer(path)
    guard let state = try TreeRows.state(database) else {
      throw .rebuildable("\(path) has no rows")
    }
    guard state.storeID == origin.storeID else { throw .rebuildable("\(path) is of another store") }
    let rows = TreeRows(database, hashKey: state.hashKey)
    try accessing { try rows.knowGreatest() }
    return RecordedTree(path: path, rows: rows, state: state, time: origin.time)
  }

  /// Makes the rows show a head, with the working tree's numbers in `hints`; false if they do already. Throws
  /// ``StoreError/rebuildable(_:)`` if that is impossible; complexity as ``open(at:for:)``.
  @discardableResult
  package func advance(
    to origin: Origin, hints: NumberHints = NumberHints()
  ) throws(StoreError) -> Bool {
    let (head, state) = (origin.head, state)
    if state.version == head.version, state.root == head.view.map.root, state.cut == head.cut {
      return false
    }
    guard let map = try accessing({ try origin.map(state.version, state.root) }) else {
      throw .rebuildable("\(path) shows a version that the store does not have")
    }
    try prepare(
      head, from: TreeView(map: map), hints: hints, numbers: origin.numbers, now: origin.now)
    try publish()
    return true
  }
}
