internal import Platform
internal import SQLite

extension KeyValueDatabase {
  public struct DatabaseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// SQLite's result codes that programs distinguish; other numbers are possible.
    public struct ResultCode: RawRepresentable, Hashable, Sendable {
      public let rawValue: Int32

      public init(rawValue: Int32) { self.rawValue = rawValue }

      public static let error = ResultCode(rawValue: 1)
      /// Another connection held the database for longer than five seconds.
      public static let busy = ResultCode(rawValue: 5)
      public static let readOnly = ResultCode(rawValue: 8)
      public static let inputOutput = ResultCode(rawValue: 10)
      public static let corrupt = ResultCode(rawValue: 11)
      public static let full = ResultCode(rawValue: 13)
      public static let cannotOpen = ResultCode(rawValue: 14)
      public static let constraint = ResultCode(rawValue: 19)
      public static let mismatch = ResultCode(rawValue: 20)
      /// The library is used in a forbidden way.
      public static let misuse = ResultCode(rawValue: 21)
    }

    public let resultCode: ResultCode
    public let message: String
    public let errno: Int32?

    init(_ code: ResultCode, _ message: String, errno: Int32? = nil) {
      resultCode = code
      self.message = message
      self.errno = errno
    }

    public var description: String { message }
  }
}

extension KeyValueDatabase.DatabaseError {
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
