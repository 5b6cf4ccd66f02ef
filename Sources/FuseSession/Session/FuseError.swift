import Glibc
import Platform

/// Why a mount could not be made or ended.
package enum FuseError: Error, Hashable, Sendable, CustomStringConvertible {
  /// libfuse would not make a session; its own words.
  case session(reason: String)
  /// The file system could not be mounted; libfuse's own words, none where fusermount3(1) said it.
  case mount(path: String, reason: String)
  /// The file system could not be unmounted.
  case unmount(path: String, errno: Int32)
  /// A call of the operating system failed.
  case system(call: String, errno: Int32)

  /// Runs `body`; what the system refuses it becomes ``system(call:errno:)``.
  static func wrapping<Result: ~Copyable>(
    _ body: () throws(SystemError) -> Result
  ) throws(FuseError) -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      throw .system(call: error.call, errno: error.errno)
    }
  }

  package var description: String {
    switch self {
    case .session(let reason): "The file system session could not be made: \(reason)."
    case .mount(let path, ""): "\(path) could not be mounted: fusermount3 refused it."
    case .mount(let path, let reason): "\(path) could not be mounted: \(reason)."
    case .unmount(let path, let errno):
      "\(path) could not be unmounted: \(unsafe String(cString: strerror(errno)))."
    case .system(let call, let errno): "\(call): \(unsafe String(cString: strerror(errno)))."
    }
  }
}
