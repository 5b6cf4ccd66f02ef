import Platform

/// A directory of a test's own, removed when the last reference goes.
package final class TemporaryDirectory: Sendable {
  package let path: String

  /// The bytes that have to be free in memory: containers are often given 64 MiB.
  private static let memory: UInt64 = 256 << 20

  /// Creates an empty directory: `inMemory` where the machine has space enough for that, so that what is
  /// played a thousand times waits for no disk.
  package init(inMemory: Bool = false) throws {
    let name = "llvs-test-\(SystemProcess.id)-\(SystemRandom.hex(6))"
    if inMemory, let disk = try? FileSystem.fileSystem(of: "/dev/shm"),
      disk.availableBytes >= Self.memory, (try? FileSystem.makeDirectory("/dev/shm/\(name)")) != nil
    {
      path = "/dev/shm/\(name)"
      return
    }
    path = "/tmp/\(name)"
    try FileSystem.makeDirectory(path)
  }

  deinit {
    // What cannot be removed stays in /tmp; a test does not fail for it.
    try? FileSystem.removeTree(path)
  }

  package func file(_ name: String) -> String { "\(path)/\(name)" }
}
