package import Platform

/// A failure of SQLite or of the file below it; each message names the file.
package enum DatabaseError: Error, Sendable {
  case corrupt(String)
  case busy(String)
  case readOnly(String)
  /// SQLite's extended result code and words about a statement, a constraint or a too large value.
  case refused(code: Int32, message: String)
  /// The system failed below SQLite, a full disk included.
  case system(SystemError)

  package var code: Int32 {
    switch self {
    case .busy: 5
    case .readOnly: 8
    case .system(let error): error.errno == Errno.noSpace ? 13 : 10
    case .corrupt: 11
    case .refused(let code, _): code & 0xFF
    }
  }
}
