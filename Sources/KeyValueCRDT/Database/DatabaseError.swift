internal import Platform
internal import SQLite

/// A failure of SQLite, or of the file below it.
public struct DatabaseError: Error, Hashable, Sendable, CustomStringConvertible {
  /// SQLite's result codes that programs distinguish; other numbers are possible.
  public struct ResultCode: RawRepresentable, Hashable, Sendable {
    /// The number of SQLite.
    public let rawValue: Int32

    /// Creates a code of SQLite's number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// A fault in the text of a statement.
    public static let error = ResultCode(rawValue: 1)
    /// Another connection held the database for longer than five seconds.
    public static let busy = ResultCode(rawValue: 5)
    /// The database, or its disk, cannot be written.
    public static let readOnly = ResultCode(rawValue: 8)
    /// The system failed to read or write.
    public static let inputOutput = ResultCode(rawValue: 10)
    /// The file is damaged, or no database.
    public static let corrupt = ResultCode(rawValue: 11)
    /// The disk is full.
    public static let full = ResultCode(rawValue: 13)
    /// The file cannot be opened or made.
    public static let cannotOpen = ResultCode(rawValue: 14)
    /// A rule of the schema is broken.
    public static let constraint = ResultCode(rawValue: 19)
    /// A value that is invalid in the column.
    public static let mismatch = ResultCode(rawValue: 20)
    /// The library is used in a forbidden way.
    public static let misuse = ResultCode(rawValue: 21)
  }

  /// SQLite's primary result code.
  public let resultCode: ResultCode
  /// The message of the system or SQLite, with the path of the file.
  public let message: String
  /// The errno of the system, where it failed.
  public let errno: Int32?

  init(_ code: ResultCode, _ message: String, errno: Int32? = nil) {
    resultCode = code
    self.message = message
    self.errno = errno
  }

  /// The message.
  public var description: String { message }
}

extension DatabaseError {
  init(_ error: SQLite.DatabaseError) {
    switch error {
    case .corrupt(let message): self.init(.corrupt, message)
    case .busy(let message): self.init(.busy, message)
    case .readOnly(let path): self.init(.readOnly, "\(path) cannot be written")
    case .refused(let code, let message): self.init(ResultCode(rawValue: code & 0xFF), message)
    case .system(let error): self.init(error)
    }
  }

  init(_ error: SystemError) {
    let code: ResultCode =
      switch error.errno {
      case Errno.noSpace: .full
      case Errno.exists, Errno.noEntry, Errno.accessDenied, Errno.tooManySymlinks: .cannotOpen
      default: .inputOutput
      }
    self.init(code, "\(error)", errno: error.errno)
  }

  static func wrapping<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLite.DatabaseError {
      throw DatabaseError(error)
    } catch let error as SystemError {
      throw DatabaseError(error)
    }
  }
}
