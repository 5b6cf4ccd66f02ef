import Glibc
import Platform

package enum FuseError: Error, Hashable, Sendable, CustomStringConvertible {
  /// libfuse's message.
  case session(reason: String)
  /// libfuse's message, empty if fusermount3(1) printed it.
  case mount(path: String, reason: String)
  case unmount(path: String, errno: Int32)
  case system(call: String, errno: Int32)

  /// Throws a system error as ``system(call:errno:)``.
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
