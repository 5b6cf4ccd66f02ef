import Foundation
import TestSupport
import Testing

/// The program, run in a directory of the test's own.
struct Tool {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Runs a script in which `llvs` is the program.
  ///
  /// The time that it may take is for what hangs: other tests run beside it.
  func run(_ script: String) throws -> ShellResult {
    try shell(
      "llvs() { '\(MountedStore.program)' \"$@\"; }\n\(script)", in: directory.path, seconds: 90)
  }

  func json(_ script: String) throws -> [String: Any] {
    let result = try run(script)
    let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
    return try #require(value as? [String: Any])
  }
}
