internal import Foundation
internal import Synchronization

/// The log of this process: silent until a program raises its ``Log/level``.
public let log = Log()

/// Writes messages to the standard error, from any thread.
public final class Log: Sendable {
  /// The importance of a message; each level contains the levels before it.
  public enum Level: Int, Comparable, Sendable {
    case none
    case error
    case warning
    case trace
    case verbose

    /// One letter for each level.
    public var stringValue: String {
      switch self {
      case .none: "N"
      case .error: "E"
      case .warning: "W"
      case .trace: "T"
      case .verbose: "V"
      }
    }

    /// Returns true if the first level contains less than the second.
    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }

  // Leaf locks.
  private let current = Mutex(Level.none)
  private let writing = Mutex(())

  /// Initializes a silent log.
  public init() {}

  /// The level up to which messages are written.
  public var level: Level {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }

  /// Writes a message at the level `verbose`.
  public func verbose(
    _ message: @autoclosure () -> String, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    append(message, .verbose, path, function, line)
  }

  /// Writes a message at the level `trace`.
  public func trace(
    _ message: @autoclosure () -> String, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    append(message, .trace, path, function, line)
  }

  /// Writes a message at the level `warning`.
  public func warning(
    _ message: @autoclosure () -> String, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    append(message, .warning, path, function, line)
  }

  /// Writes a message at the level `error`.
  public func error(
    _ message: @autoclosure () -> String, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    append(message, .error, path, function, line)
  }

  private func append(
    _ message: () -> String, _ level: Level, _ path: StaticString, _ function: StaticString,
    _ line: Int
  ) {
    guard self.level >= level else { return }
    let text = "\(level.stringValue) \(path)(\(line)) : \(function) : \(message())\n"
    writing.withLock { _ in FileHandle.standardError.write(Data(text.utf8)) }
  }
}
