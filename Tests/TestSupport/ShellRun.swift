import Foundation

/// What a program said and how it ended.
package struct ShellResult: Sendable {
  package var status: Int32
  package var output: String
}

/// Foundation takes a process for running as long as anybody has its descriptors, also a program that a
/// script leaves in the background.
private let closeOthers =
  #"for fd in /proc/self/fd/*; do fd=${fd##*/}; [ $fd -gt 2 ] && eval "exec $fd>&-"; done"#

/// Runs a bash script with a time limit, both outputs together.
///
/// Programs are run under `timeout`, so that one that hangs in a mount fails its test and not the run.
package func shell(
  _ script: String, in directory: String = "/", seconds: Int = 30,
  environment: [String: String] = [:]
) throws -> ShellResult {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  // The threads of tests block signals, which programs would inherit.
  process.arguments = [
    "--default-signal", "timeout", "-k", "2", "\(seconds)", "bash", "-c",
    "\(closeOthers)\ncd '\(directory)' || exit 99\n\(script)",
  ]
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
  // A file, not a pipe: what a script leaves running in the background would keep a pipe open.
  let said = "/tmp/llvs-shell-\(UUID().uuidString)"
  _ = FileManager.default.createFile(atPath: said, contents: nil)
  guard let handle = FileHandle(forUpdatingAtPath: said) else {
    throw CocoaError(.fileWriteUnknown)
  }
  unlink(said)
  process.standardInput = FileHandle.nullDevice
  process.standardOutput = handle
  process.standardError = handle
  try process.run()
  process.waitUntilExit()
  try handle.seek(toOffset: 0)
  let output = handle.readDataToEndOfFile()
  return ShellResult(
    status: process.terminationStatus, output: String(decoding: output, as: UTF8.self))
}

/// Waits for something that another program brings about; false after the time is up.
package func eventually(seconds: Double = 15, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = Date().addingTimeInterval(seconds)
  while Date() < deadline {
    if try condition() { return true }
    usleep(20_000)
  }
  return try condition()
}
