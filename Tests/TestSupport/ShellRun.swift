import Foundation

/// What a program said and how it ended.
package struct ShellResult: Sendable {
  package var status: Int32
  package var output: String
}

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
    "cd '\(directory)' || exit 99\n\(script)",
  ]
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
  let pipe = Pipe()
  process.standardInput = FileHandle.nullDevice
  process.standardOutput = pipe
  process.standardError = pipe
  try process.run()
  let output = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return ShellResult(
    status: process.terminationStatus, output: String(decoding: output, as: UTF8.self))
}

/// Waits for something that another program brings about; false after the time is up.
package func eventually(seconds: Double = 15, _ condition: () -> Bool) -> Bool {
  let deadline = Date().addingTimeInterval(seconds)
  while Date() < deadline {
    if condition() { return true }
    usleep(20_000)
  }
  return condition()
}
