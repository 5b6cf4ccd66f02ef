import Inodes
import SQLite

extension TreeRows {
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
