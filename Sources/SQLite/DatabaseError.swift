package import Platform

/// A failure of SQLite or of the file below it; each message names the file.
package enum DatabaseError: Error, Sendable {
  /// The file is no database, or damaged.
  case corrupt(String)
  /// Another connection had the lock for too long.
  case busy(String)
  /// The path of a read-only file.
  case readOnly(String)
  /// SQLite's extended result code and words about a statement, a constraint or a too large value.
  case refused(code: Int32, message: String)
  /// The system failed below SQLite, a full disk included.
  case system(SystemError)
}
