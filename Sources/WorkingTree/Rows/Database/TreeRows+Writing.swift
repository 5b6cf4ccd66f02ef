import Inodes
import LLVSCore
import SQLite

// Changes rows in a transaction of the writing connection. These calls keep entries, names and link counts
// consistent; the caller removes inodes without a name.

extension TreeRows {
  func removeAll() throws(DatabaseError) {
    noteAllChanged()
    try database.execute(
      """
      DELETE FROM state; DELETE FROM inodes; DELETE FROM entries; DELETE FROM names;
      DELETE FROM links
      """)
  }

  func set(_ state: RecordedState) throws(DatabaseError) {
    try database.prepared("DELETE FROM state").run()
    let statement = try database.prepared("INSERT INTO state VALUES(?, ?, ?, ?, ?, ?, ?)")
    statement.bind(1, state.storeID).bind(2, state.cut).bind(3, state.version?.rawValue)
      .bind(4, state.encodedRoot).bind(5, Int64(bitPattern: state.hashKey))
      .bind(6, state.values).bind(7, state.directories)
    try statement.run()
  }

  func insert(
    _ record: InodeRecord, at number: InodeNumber, links: Int64 = 0, place: InodePlace? = nil
  ) throws(DatabaseError) {
    let statement = try database.prepared("INSERT INTO inodes VALUES(?, ?, ?, ?, ?)")
    statement.bind(1, number.column).bind(2, place?.parent.column).bind(3, place?.cookie.rawValue)
      .bind(4, links).bind(5, record.encoded)
    try statement.run()
    noteAdded(number)
    if let id = record.attributes.linkID { try addLink(id, number) }
  }

  func update(
    _ record: InodeRecord, of number: InodeNumber, from old: InodeRecord
  ) throws(DatabaseError) {
    noteChanged(number)
    try database.prepared("UPDATE inodes SET record = ?2 WHERE number = ?1")
      .bind(1, number.column).bind(2, record.encoded).run()
    guard record.attributes.linkID != old.attributes.linkID else { return }
    if let id = old.attributes.linkID { try removeLink(id, number) }
    if let id = record.attributes.linkID { try addLink(id, number) }
  }

  /// Sets the root's attributes; nil keeps them.
  func setRoot(_ attributes: Attributes?) throws(DatabaseError) {
    guard let attributes, let old = try inode(.root)?.inode.record, old.attributes != attributes
    else { return }
    var record = old
    record.attributes = attributes
    try update(record, of: .root, from: old)
  }

  func remove(_ number: InodeNumber, _ record: InodeRecord) throws(DatabaseError) {
    noteChanged(number)
    try database.prepared("DELETE FROM inodes WHERE number = ?").bind(1, number.column).run()
    if let id = record.attributes.linkID { try removeLink(id, number) }
  }

  private func addLink(_ id: [UInt8], _ number: InodeNumber) throws(DatabaseError) {
    try database.prepared("INSERT OR IGNORE INTO links VALUES(?, ?)")
      .bind(1, id).bind(2, number.column).run()
  }

  private func removeLink(_ id: [UInt8], _ number: InodeNumber) throws(DatabaseError) {
    try database.prepared("DELETE FROM links WHERE id = ? AND inode = ?")
      .bind(1, id).bind(2, number.column).run()
  }

  func addSubdirectories(_ count: Int64, to directory: InodeNumber) throws(DatabaseError) {
    try database.prepared("UPDATE inodes SET links = links + ?2 WHERE number = ?1")
      .bind(1, directory.column).bind(2, count).run()
  }

  /// Returns the place of a new name, with its cookie in `given` if it has one. Throws
  /// ``DatabaseError/corrupt(_:)`` if nine names are equal in prefix and hash: then the rows must be made again,
  /// with another hash.
  func freePlace(
    for name: FileName, in directory: InodeNumber, given: GivenCookies? = nil
  ) throws(DatabaseError) -> InodePlace {
    try freePlace(for: name, in: directory, given: given, choice(for: name, in: directory))
  }

  func freePlace(
    for name: FileName, in directory: InodeNumber, given: GivenCookies?, _ choice: CookieChoice
  ) throws(DatabaseError) -> InodePlace {
    let last = CookieHash.last(of: choice.first)
    if let cookie = given?.byName[name], cookie >= choice.first, cookie <= last,
      !choice.taken.contains(cookie)
    {
      return InodePlace(parent: directory, cookie: cookie)
    }
    var free = choice.first
    while choice.taken.contains(free) || given?.all.contains(free) ?? false { free = free.next }
    guard free <= last else {
      throw .corrupt("\(database.path): nine names of one directory have the same hash")
    }
    return InodePlace(parent: directory, cookie: free)
  }

  func addEntry(
    _ name: FileName, at place: InodePlace, for number: InodeNumber, key: Key?
  ) throws(DatabaseError) {
    try insertEntry(name, at: place, for: number, key: key)
    try attach(number, at: place)
  }

  /// Adds a new file and its entry, in half of the statements of inserting both.
  func addFile(
    _ record: InodeRecord, at number: InodeNumber, _ name: FileName, at place: InodePlace, key: Key?
  ) throws(DatabaseError) {
    try insert(record, at: number, links: 1, place: place)
    try insertEntry(name, at: place, for: number, key: key)
  }

  func insertEntry(
    _ name: FileName, at place: InodePlace, for number: InodeNumber, key: Key?
  ) throws(DatabaseError) {
    try database.prepared("INSERT INTO entries VALUES(?, ?, ?, ?, ?)")
      .bind(1, place.parent.column).bind(2, place.cookie.rawValue).bind(3, name.bytes)
      .bind(4, number.column).bind(5, key?.bytes).run()
  }

  /// Removes an entry; true if its inode has no name now.
  func removeEntry(at place: InodePlace, of number: InodeNumber) throws(DatabaseError) -> Bool {
    try database.prepared("DELETE FROM entries WHERE parent = ? AND cookie = ?")
      .bind(1, place.parent.column).bind(2, place.cookie.rawValue).run()
    return try detach(number, from: place)
  }

  /// Makes an entry name another inode with a row; true if the old one has no name now.
  func setEntry(
    at place: InodePlace, from old: InodeNumber, to number: InodeNumber, key: Key?
  ) throws(DatabaseError) -> Bool {
    try setEntry(at: place, number: number, key: key)
    let isNameless = try detach(old, from: place)
    try attach(number, at: place)
    return isNameless
  }

  func setEntry(at place: InodePlace, number: InodeNumber, key: Key?) throws(DatabaseError) {
    try database.prepared(
      "UPDATE entries SET inode = ?3, key = ?4 WHERE parent = ?1 AND cookie = ?2"
    )
    .bind(1, place.parent.column).bind(2, place.cookie.rawValue).bind(3, number.column)
    .bind(4, key?.bytes).run()
  }

  /// Replaces a file with one name by a new file, in a third of the statements of setting the entry and removing
  /// the inode.
  func replaceFile(
    _ old: BaseInode, at place: InodePlace, by number: InodeNumber, _ record: InodeRecord, key: Key?
  ) throws(DatabaseError) {
    try setEntry(at: place, number: number, key: key)
    try insert(record, at: number, links: 1, place: place)
    try remove(old.number, old.record)
  }

  private func attach(_ number: InodeNumber, at place: InodePlace) throws(DatabaseError) {
    guard let row = try inode(number) else {
      throw .corrupt("\(database.path): inode \(number.rawValue) has a name and no row")
    }
    let links: Int64 = row.inode.record.isDirectory ? 0 : 1
    if row.place == nil {
      try setPlace(place, of: number, links: links)
      return
    }
    guard links > 0 else {
      throw .corrupt("\(database.path): directory \(number.rawValue) has two names")
    }
    noteChanged(number)
    try database.prepared("INSERT INTO names VALUES(?, ?, ?)")
      .bind(1, number.column).bind(2, place.parent.column).bind(3, place.cookie.rawValue).run()
    try addSubdirectories(1, to: number)
  }

  private func detach(_ number: InodeNumber, from place: InodePlace) throws(DatabaseError) -> Bool {
    guard let row = try inode(number) else {
      throw .corrupt("\(database.path): inode \(number.rawValue) has a name and no row")
    }
    let links: Int64 = row.inode.record.isDirectory ? 0 : -1
    if row.place != place {
      try removeName(of: number, at: place)
      try addSubdirectories(links, to: number)
      return row.place == nil
    }
    let other = try row.inode.links > 1 && links < 0 ? furtherName(of: number) : nil
    if let other { try removeName(of: number, at: other) }
    try setPlace(other, of: number, links: links)
    return other == nil
  }

  private func setPlace(
    _ place: InodePlace?, of number: InodeNumber, links: Int64
  ) throws(DatabaseError) {
    noteChanged(number)
    try database.prepared(
      "UPDATE inodes SET parent = ?2, cookie = ?3, links = links + ?4 WHERE number = ?1"
    )
    .bind(1, number.column).bind(2, place?.parent.column).bind(3, place?.cookie.rawValue)
    .bind(4, links).run()
  }

  private func furtherName(of number: InodeNumber) throws(DatabaseError) -> InodePlace? {
    let statement = try database.prepared(
      "SELECT parent, cookie FROM names WHERE inode = ? LIMIT 1")
    defer { statement.reset() }
    statement.bind(1, number.column)
    guard try statement.step() else { return nil }
    return InodePlace(
      parent: InodeNumber(column: statement.integer(0)), cookie: EntryCookie(statement.integer(1)))
  }

  private func removeName(of number: InodeNumber, at place: InodePlace) throws(DatabaseError) {
    noteChanged(number)
    try database.prepared("DELETE FROM names WHERE inode = ? AND parent = ? AND cookie = ?")
      .bind(1, number.column).bind(2, place.parent.column).bind(3, place.cookie.rawValue).run()
  }

  /// Gives an inode, and a directory's contents, a number without a row, in O(*m* log *n*) for *m* names of the
  /// inode or in the directory.
  func renumber(_ row: InodeRow, to new: InodeNumber) throws(DatabaseError) {
    let (old, record) = (row.inode.number, row.inode.record)
    for place in try places(of: old) {
      try database.prepared("UPDATE entries SET inode = ?3 WHERE parent = ?1 AND cookie = ?2")
        .bind(1, place.parent.column).bind(2, place.cookie.rawValue).bind(3, new.column).run()
    }
    if record.isDirectory {
      try moveEntries(from: old, to: new)
    } else if row.inode.links > 1 {
      try change("UPDATE names SET inode = ?2 WHERE inode = ?1", old, new)
    }
    try remove(old, record)
    try insert(record, at: new, links: Int64(row.inode.links), place: row.place)
  }

  /// Moves the entries of a directory to another, and updates their inodes.
  private func moveEntries(from old: InodeNumber, to new: InodeNumber) throws(DatabaseError) {
    noteAllChanged()
    // The entries find the inodes with a name there, so they change last.
    try change(
      """
      UPDATE inodes SET parent = ?2
      WHERE number IN (SELECT inode FROM entries WHERE parent = ?1) AND parent = ?1
      """, old, new)
    try change(
      """
      UPDATE names SET parent = ?2
      WHERE inode IN (SELECT inode FROM entries WHERE parent = ?1) AND parent = ?1
      """, old, new)
    try change("UPDATE entries SET parent = ?2 WHERE parent = ?1", old, new)
  }

  private func change(
    _ statement: StaticString, _ old: InodeNumber, _ new: InodeNumber
  ) throws(DatabaseError) {
    try database.prepared(statement).bind(1, old.column).bind(2, new.column).run()
  }
}
