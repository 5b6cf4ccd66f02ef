internal import Foundation
internal import Synchronization

/// The log of this process: silent until a program raises its ``Log/level``.
public let log = Log()

public final class Log: Sendable {
  /// The importance of a message; each level contains the levels before it.
  public enum Level: Int, Comparable, Sendable {
    case none
    case error
    case warning
    case trace
    case verbose

    public var stringValue: String {
      switch self {
      case .none: "N"
      case .error: "E"
      case .warning: "W"
      case .trace: "T"
      case .verbose: "V"
      }
    }

    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }

  // Leaf locks.
  private let current = Mutex(Level.none)
  private static let writing = Mutex(())

  public init() {}

  public var level: Level {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }

  public func verbose(
    _ message: @autoclosure () -> String, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    write(message, .verbose, path, function, line)
  }

  public func trace(
    _ message: @autoclosure () -> String, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    write(message, .trace, path, function, line)
  }

  public func warning(
    _ message: @autoclosure () -> String, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    write(message, .warning, path, function, line)
  }

  public func error(
    _ message: @autoclosure () -> String, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    write(message, .error, path, function, line)
  }

  private func write(
    _ message: () -> String, _ level: Level, _ path: StaticString, _ function: StaticString,
    _ line: Int
  ) {
    guard self.level >= level else { return }
    Log.append(message(), level: level, path: path, function: function, line: line)
  }

  /// Writes a message at any level of the log.
  public class func append(
    _ message: @autoclosure () -> String, level: Level, path: StaticString = #fileID,
    function: StaticString = #function, line: Int = #line
  ) {
    let text = "\(level.stringValue) \(path)(\(line)) : \(function) : \(message())\n"
    writing.withLock { _ in FileHandle.standardError.write(Data(text.utf8)) }
  }
}
