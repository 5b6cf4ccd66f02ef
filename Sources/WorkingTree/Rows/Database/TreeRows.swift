import Inodes
import LLVSCore
import SQLite

/// Reads the rows of tree.sqlite through one connection.
///
/// - Concurrency: one thread at a time.
final class TreeRows {
  let database: Database
  let cookies: CookieHash
  /// The greatest row number at the last ``knowGreatest()``; nil for a connection that does not write.
  private var greatest: InodeNumber?
  /// The row numbers added since, which come unordered.
  private var added: Set<InodeNumber> = []
  /// The inodes whose rows or names changed since the last ``knowGreatest()``; nil if any may have.
  private(set) var changed: Set<InodeNumber>?

  init(_ database: Database, hashKey: UInt64) {
    self.database = database
    cookies = CookieHash(key: hashKey)
  }

  /// The error of rows that contradict themselves or the map.
  func damaged(_ fault: String) -> StoreError { .rebuildable("\(database.path): \(fault)") }

  static func state(_ database: Database) throws(StoreError) -> RecordedState? {
    try accessing {
      let statement = try database.prepared(
        """
        SELECT store, cut, version, root, hash_key, value_count, directory_count FROM state
        """)
      defer { statement.reset() }
      guard try statement.step() else { return nil }
      guard let root = RecordedState.root(decoding: statement.bytes(3)) else {
        throw DatabaseError.corrupt("\(database.path): the root of its map is malformed")
      }
      var state = RecordedState(
        storeID: statement.bytes(0), cut: statement.integer(1),
        version: statement.isNull(2) ? nil : Version.ID(statement.text(2)), root: root)
      state.hashKey = UInt64(bitPattern: statement.integer(4))
      state.values = statement.integer(5)
      state.directories = statement.integer(6)
      return state
    }
  }

  /// Returns the greatest inode number, by one look-up; nil without rows.
  func lastNumber() throws(DatabaseError) -> InodeNumber? {
    let statement = try database.prepared("SELECT max(number) FROM inodes")
    defer { statement.reset() }
    guard try statement.step(), !statement.isNull(0) else { return nil }
    return InodeNumber(UInt64(clamping: statement.integer(0)))
  }

  /// Saves look-ups of numbers without a row, such as those of new files, on the writing connection. Takes one
  /// look-up, and memory for each row that is added before the next call.
  func knowGreatest() throws(DatabaseError) {
    greatest = try lastNumber() ?? .root
    added = []
    changed = []
  }

  func noteChanged(_ number: InodeNumber) { changed?.insert(number) }
  func noteAllChanged() { changed = nil }

  func noteAdded(_ number: InodeNumber) {
    if let greatest, greatest < number { added.insert(number) }
    noteChanged(number)
  }

  /// False if certainly no row has the number.
  private func mayHave(_ number: InodeNumber) -> Bool {
    greatest.map { number <= $0 || added.contains(number) } ?? true
  }

  /// Returns the entry of a name, by two look-ups.
  func child(of directory: InodeNumber, named name: FileName) throws(DatabaseError) -> BaseEntry? {
    guard mayHave(directory) else { return nil }
    let first = cookies.first(of: name)
    let statement = try database.prepared(
      """
      SELECT e.cookie, e.inode, e.key, i.links, i.record FROM entries e
      LEFT JOIN inodes i ON i.number = e.inode
      WHERE e.parent = ?1 AND e.cookie BETWEEN ?2 AND ?3 AND e.name = ?4
      """)
    defer { statement.reset() }
    statement.bind(1, directory.column).bind(2, first.rawValue)
      .bind(3, CookieHash.last(of: first).rawValue).bind(4, name.bytes)
    guard try statement.step() else { return nil }
    return try entry(
      name, cookie: statement.integer(0), number: statement.integer(1),
      key: statement.optionalBytes(2), links: statement.integer(3), record: 4, of: statement)
  }

  func page(
    of directory: InodeNumber, after cookie: EntryCookie, limit: Int
  ) throws(DatabaseError) -> [BaseEntry] {
    let statement = try database.prepared(
      """
      SELECT e.cookie, e.inode, e.key, e.name, i.links, i.record FROM entries e
      LEFT JOIN inodes i ON i.number = e.inode
      WHERE e.parent = ?1 AND e.cookie > ?2 ORDER BY e.cookie LIMIT ?3
      """)
    defer { statement.reset() }
    statement.bind(1, directory.column).bind(2, cookie.rawValue).bind(3, Int64(limit))
    var entries: [BaseEntry] = []
    while try statement.step() {
      entries.append(
        try entry(
          FileName(statement.bytes(3)), cookie: statement.integer(0), number: statement.integer(1),
          key: statement.optionalBytes(2), links: statement.integer(4), record: 5, of: statement))
    }
    return entries
  }

  func count(of directory: InodeNumber, atMost limit: Int) throws(DatabaseError) -> Int {
    let statement = try database.prepared(
      "SELECT count(*) FROM (SELECT 1 FROM entries WHERE parent = ? LIMIT ?)")
    defer { statement.reset() }
    statement.bind(1, directory.column).bind(2, Int64(limit))
    return try statement.step() ? Int(statement.integer(0)) : 0
  }

  /// Returns the possible cookies of a name.
  func choice(for name: FileName, in directory: InodeNumber) throws(DatabaseError) -> CookieChoice {
    var choice = CookieChoice(first: cookies.first(of: name))
    guard mayHave(directory) else { return choice }
    let statement = try database.prepared(
      "SELECT cookie, name FROM entries WHERE parent = ? AND cookie BETWEEN ? AND ?")
    defer { statement.reset() }
    statement.bind(1, directory.column).bind(2, choice.first.rawValue)
      .bind(3, CookieHash.last(of: choice.first).rawValue)
    while try statement.step() {
      let cookie = EntryCookie(statement.integer(0))
      if statement.bytes(1) == name.bytes {
        choice.own = cookie
      } else {
        choice.taken.append(cookie)
      }
    }
    return choice
  }

  private func entry(
    _ name: FileName, cookie: Int64, number: Int64, key: [UInt8]?, links: Int64, record: Int32,
    of statement: Statement
  ) throws(DatabaseError) -> BaseEntry {
    let inode = BaseInode(
      number: InodeNumber(column: number), record: try self.record(record, of: statement, number),
      links: Int(links))
    return BaseEntry(
      name: name, cookie: EntryCookie(cookie), inode: inode, key: key.map { Key(bytes: $0) })
  }

  private func record(
    _ column: Int32, of statement: Statement, _ number: Int64
  ) throws(DatabaseError) -> InodeRecord {
    guard let record = InodeRecord(decoding: statement.blob(column)) else {
      throw .corrupt("\(database.path): the record of inode \(number) is missing or malformed")
    }
    return record
  }

  struct InodeRow {
    var inode: BaseInode
    /// One of its names; nil for the root and an inode without a name.
    var place: InodePlace?
  }

  func inode(_ number: InodeNumber) throws(DatabaseError) -> InodeRow? {
    guard mayHave(number) else { return nil }
    let statement = try database.prepared(
      "SELECT parent, cookie, links, record FROM inodes WHERE number = ?")
    defer { statement.reset() }
    statement.bind(1, number.column)
    guard try statement.step() else { return nil }
    let inode = BaseInode(
      number: number, record: try record(3, of: statement, number.column),
      links: Int(statement.integer(2)))
    guard !statement.isNull(0) else { return InodeRow(inode: inode, place: nil) }
    return InodeRow(
      inode: inode,
      place: InodePlace(
        parent: InodeNumber(column: statement.integer(0)),
        cookie: EntryCookie(statement.integer(1))))
  }

  /// True if an inode has a name and no other, by one look-up: an equal cookie is enough, because no program can
  /// give its file another name with that.
  func has(_ number: InodeNumber, onlyAt name: InodeName) throws(DatabaseError) -> Bool {
    guard mayHave(number) else { return false }
    let first = cookies.first(of: name.name)
    let statement = try database.prepared(
      """
      SELECT 1 FROM inodes
      WHERE number = ? AND parent = ? AND cookie BETWEEN ? AND ? AND links = 1
      """)
    defer { statement.reset() }
    statement.bind(1, number.column).bind(2, name.directory.column).bind(3, first.rawValue)
      .bind(4, CookieHash.last(of: first).rawValue)
    return try statement.step()
  }

  func places(of number: InodeNumber) throws(DatabaseError) -> [InodePlace] {
    guard let row = try inode(number) else { return [] }
    return try places(of: row, number)
  }

  func places(of row: InodeRow, _ number: InodeNumber) throws(DatabaseError) -> [InodePlace] {
    guard let first = row.place else { return [] }
    guard !row.inode.record.isDirectory, row.inode.links > 1 else { return [first] }
    var places = [first]
    let statement = try database.prepared("SELECT parent, cookie FROM names WHERE inode = ?")
    defer { statement.reset() }
    statement.bind(1, number.column)
    while try statement.step() {
      places.append(
        InodePlace(
          parent: InodeNumber(column: statement.integer(0)),
          cookie: EntryCookie(statement.integer(1))))
    }
    return places
  }

  /// True for a name of a file besides its first one.
  func isFurther(_ place: InodePlace, of number: InodeNumber) throws(DatabaseError) -> Bool {
    let statement = try database.prepared(
      "SELECT 1 FROM names WHERE inode = ? AND parent = ? AND cookie = ?")
    defer { statement.reset() }
    statement.bind(1, number.column).bind(2, place.parent.column).bind(3, place.cookie.rawValue)
    return try statement.step()
  }

  func names(of number: InodeNumber) throws(DatabaseError) -> [InodeName] {
    try places(of: number).map { (place) throws(DatabaseError) in
      InodeName(directory: place.parent, name: try name(at: place))
    }
  }

  func name(at place: InodePlace) throws(DatabaseError) -> FileName {
    let statement = try database.prepared(
      "SELECT name FROM entries WHERE parent = ? AND cookie = ?")
    defer { statement.reset() }
    statement.bind(1, place.parent.column).bind(2, place.cookie.rawValue)
    guard try statement.step() else {
      throw .corrupt("\(database.path): an inode has a name that is not in its directory")
    }
    return FileName(statement.bytes(0))
  }

  func linked(by id: [UInt8]) throws(DatabaseError) -> [InodeNumber] {
    let statement = try database.prepared("SELECT inode FROM links WHERE id = ?")
    defer { statement.reset() }
    statement.bind(1, id)
    var numbers: [InodeNumber] = []
    while try statement.step() { numbers.append(InodeNumber(column: statement.integer(0))) }
    return numbers
  }
}

/// A directory and a cookie in it.
struct InodePlace: Hashable {
  var parent: InodeNumber
  var cookie: EntryCookie
}

extension InodeNumber {
  /// The number for SQLite; numbers are below 2^40.
  var column: Int64 { Int64(truncatingIfNeeded: rawValue) }
  init(column: Int64) { self.init(UInt64(truncatingIfNeeded: column)) }
}
