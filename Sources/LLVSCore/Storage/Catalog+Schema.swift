/// The tables of store.sqlite. A change here is a new format version.
extension Catalog {
  /// The format of a store; other formats are refused.
  static let formatVersion: Int64 = 3
  static let schema = """
    CREATE TABLE properties(
      name BLOB PRIMARY KEY, value BLOB NOT NULL, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE counters(
      name BLOB PRIMARY KEY, value INTEGER NOT NULL, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE versions(
      number INTEGER PRIMARY KEY,
      id BLOB NOT NULL UNIQUE,
      name BLOB NOT NULL UNIQUE,
      first INTEGER, second INTEGER,
      timestamp REAL NOT NULL, bits INTEGER NOT NULL, generation INTEGER NOT NULL,
      line BLOB NOT NULL, flags INTEGER NOT NULL,
      map BLOB NOT NULL, data_size INTEGER, stored_at INTEGER NOT NULL,
      metadata BLOB NOT NULL, changes BLOB, sum INTEGER);
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
      map BLOB, reason BLOB NOT NULL, sum INTEGER);
    CREATE INDEX head_log_by_time ON head_log(time);
    CREATE TABLE settings(
      name BLOB PRIMARY KEY, value BLOB NOT NULL, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE peers(
      name BLOB PRIMARY KEY, address BLOB NOT NULL, state BLOB, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE links(
      link BLOB, key BLOB, sum INTEGER, PRIMARY KEY(link, key)) WITHOUT ROWID;
    CREATE TABLE bundles(
      hash BLOB PRIMARY KEY, versions BLOB NOT NULL, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE remote_bundles(
      number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, state INTEGER NOT NULL,
      put INTEGER NOT NULL, announced INTEGER NOT NULL, facts BLOB NOT NULL, sum INTEGER);
    CREATE TABLE remote_items(
      item BLOB NOT NULL, bundle INTEGER NOT NULL, place INTEGER NOT NULL, sum INTEGER,
      PRIMARY KEY(item, bundle)) WITHOUT ROWID;
    CREATE INDEX remote_items_by_bundle ON remote_items(bundle);
    """
}
