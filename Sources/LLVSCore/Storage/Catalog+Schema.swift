/// The tables of store.sqlite. A change here is a new format version and a migration.
///
/// | format | what came with it |
/// |---|---|
/// | 1 | the tables below |
/// | 2 | the column `sum` (Catalog+Sums); a writer adds it to a store of format 1 |
/// | 3 | nothing here: the store's working tree has a journal that programs for format 2 cannot read |
extension Catalog {
  /// The greatest format that this program knows.
  static let formatVersion: Int64 = 3
  /// The format of a store whose working tree was never opened by a program that knows format 3.
  static let plainFormat: Int64 = 2

  /// Tables that the first programs for format 1 did not make.
  static let additions = """
    CREATE TABLE IF NOT EXISTS links(
      link BLOB, key BLOB, PRIMARY KEY(link, key)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS directory_times(
      inode INTEGER PRIMARY KEY, seconds INTEGER NOT NULL, nanoseconds INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS bundles(
      hash BLOB PRIMARY KEY, versions BLOB NOT NULL) WITHOUT ROWID;
    """

  static let schema = """
    CREATE TABLE properties(
      name BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE counters(
      name BLOB PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE versions(
      number INTEGER PRIMARY KEY,
      id BLOB NOT NULL UNIQUE,
      name BLOB NOT NULL UNIQUE,
      first INTEGER, second INTEGER,
      timestamp REAL NOT NULL, bits INTEGER NOT NULL, generation INTEGER NOT NULL,
      line BLOB NOT NULL, flags INTEGER NOT NULL,
      map BLOB NOT NULL, data_size INTEGER, stored_at INTEGER NOT NULL,
      metadata BLOB NOT NULL, changes BLOB);
    CREATE INDEX versions_by_time ON versions(timestamp, generation, id);
    CREATE TABLE successors(
      predecessor INTEGER NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY(predecessor, number)) WITHOUT ROWID;
    CREATE TABLE heads(number INTEGER PRIMARY KEY);
    CREATE TABLE line_heads(
      line BLOB NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY(line, number)) WITHOUT ROWID;
    CREATE TABLE head_log(
      sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, version INTEGER,
      map BLOB, reason BLOB NOT NULL);
    CREATE INDEX head_log_by_time ON head_log(time);
    CREATE TABLE settings(
      name BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE peers(
      name BLOB PRIMARY KEY, address BLOB NOT NULL, state BLOB) WITHOUT ROWID;
    CREATE TABLE implied(
      path BLOB PRIMARY KEY, inode INTEGER NOT NULL) WITHOUT ROWID;
    """
}
