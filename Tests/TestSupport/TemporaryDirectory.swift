import Platform

/// A directory of a test's own, removed when the last reference goes.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() throws {
    path = "/tmp/llvs-test-\(SystemProcess.id)-\(SystemRandom.hex(6))"
    try FileSystem.makeDirectory(path)
  }

  deinit {
    // What cannot be removed stays in /tmp; a test does not fail for it.
    try? FileSystem.removeTree(path)
  }

  package func file(_ name: String) -> String { "\(path)/\(name)" }
}
