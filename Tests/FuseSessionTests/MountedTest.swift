import Foundation
import FuseSession
import Platform

/// A mounted ``MemoryFileSystem`` and the shell that uses it.
///
/// The tests use the mount only through other programs, each with a time limit: a mount that does
/// not answer must not stop the tests.
struct Mounted {
  let fileSystem: MemoryFileSystem
  let session: FuseSession
  let path: String

  /// True where this process can mount.
  static var isPossible: Bool {
    let descriptor = Glibc.open("/dev/fuse", O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
  }

  static func with(
    _ fileSystem: MemoryFileSystem = MemoryFileSystem(),
    connection: ConnectionOptions = ConnectionOptions(),
    configure: (inout MountOptions) -> Void = { _ in }, _ body: (Mounted) throws -> Void
  ) throws {
    try withTemporaryDirectory { path in
      var options = MountOptions(source: "a,b \\c")
      configure(&options)
      let session = try FuseSession(fileSystem, mount: options, connection: connection)
      try session.mount(at: path)
      try session.start()
      defer {
        try? session.requestUnmount(lazily: true)
        session.waitUntilEnded()
      }
      try body(Mounted(fileSystem: fileSystem, session: session, path: path))
    }
  }

  /// Runs a bash script in the mount; its status and everything that it printed.
  func shell(_ script: String, seconds: Int = 20) throws -> (status: Int32, output: String) {
    try run(script, in: path, seconds: seconds)
  }
}

extension FuseSession {
  /// Serves on another thread.
  func start() throws {
    try SystemThread.detach(name: "llvs-fuse") { [self] in try? run() }
  }

  /// Waits for the end of a mounted session.
  func waitUntilEnded() { while mountPoint != nil { usleep(1000) } }
}

func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
  let path = FileManager.default.temporaryDirectory
    .appendingPathComponent("llvs-fuse-\(UUID().uuidString)").path
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  defer { rmdir(path) }
  try body(path)
}

func run(
  _ script: String, in directory: String = "/", seconds: Int = 20
) throws -> (status: Int32, output: String) {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
  process.arguments = [
    "-k", "2", "\(seconds)", "bash", "-c", "cd '\(directory)' || exit 99\n\(script)",
  ]
  let pipe = Pipe()
  process.standardOutput = pipe
  process.standardError = pipe
  try process.run()
  let output = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}

/// Waits for something that another program brings about; false after ten seconds.
func eventually(_ condition: () -> Bool) -> Bool {
  for _ in 0..<1000 {
    if condition() { return true }
    usleep(10_000)
  }
  return false
}
