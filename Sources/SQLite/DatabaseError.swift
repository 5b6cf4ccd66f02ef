package import Platform

/// A failure of SQLite or of the file below it; each message names the file.
package enum DatabaseError: Error, Sendable {
  /// The file is no database, its pages contradict each other, or a page that has a checksum does
  /// not match it.
  case corrupt(String)
  /// Another connection held the database for too long.
  case busy(String)
  /// The file, or the disk that it is on, is read-only; the file's path.
  case readOnly(String)
  /// SQLite cannot do what a statement says: a fault of its text, a constraint, a value that is too large;
  /// SQLite's extended result code and its words.
  case refused(code: Int32, message: String)
  /// The system failed below SQLite, a full disk included.
  case system(SystemError)
}
