import Foundation
import Platform

/// A store mounted by the real program, in a directory of its own.
package final class MountedStore {
  package let directory: String
  package var store: String { directory + "/store" }
  /// Where it is mounted.
  package let path: String
  private var process: Process?

  /// The `llvs` that was built with the tests.
  package static var program: String { program("llvs") }

  /// A program that was built with the tests.
  package static func program(_ name: String) -> String {
    let runner = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    var folder = runner.deletingLastPathComponent()
    for _ in 0..<4 {
      let candidate = folder.appendingPathComponent(name).path
      if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
      folder = folder.deletingLastPathComponent()
    }
    return ".build/debug/\(name)"
  }

  /// True if this process can mount; tests that need it skip where it cannot.
  package static var isPossible: Bool {
    guard (try? File("/dev/fuse", .readWrite)) != nil else { return false }
    return true
  }

  package struct Failure: Error, CustomStringConvertible {
    package var description: String
  }

  /// Runs a body with a fresh mounted store; it is unmounted and removed whatever happens.
  package static func with(
    settings: [String] = [], _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore()
    defer { mounted.tearDown() }
    try mounted.mount()
    for setting in settings {
      _ = try mounted.shell("echo 'set \(setting)' > .llvs/control")
    }
    try body(mounted)
  }

  package init() throws {
    directory = "/tmp/llvs-mount-\(UUID().uuidString.prefix(13))"
    path = directory + "/mnt"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  /// Mounts, and returns once the tree answers.
  ///
  /// The daemon is run by another program where one is named, and with more in its environment.
  package func mount(
    options: [String] = [], running: [String] = [], environment: [String: String] = [:]
  ) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["--default-signal"] + environment.map { "\($0.key)=\($0.value)" }.sorted() + running
      + [Self.program, "mount", store, path, "--foreground"] + options
    process.standardInput = FileHandle.nullDevice
    let log = directory + "/daemon.log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    process.standardOutput = FileHandle(forWritingAtPath: log)
    process.standardError = FileHandle(forWritingAtPath: log)
    try process.run()
    self.process = process
    let isUp = eventually(seconds: 30) { !process.isRunning || Self.isMountPoint(path) }
    guard isUp, process.isRunning else {
      throw Failure(description: "the mount did not come up: \(daemonLog)")
    }
  }

  /// What the daemon printed.
  package var daemonLog: String {
    (try? String(contentsOfFile: directory + "/daemon.log", encoding: .utf8)) ?? ""
  }

  /// The daemon's process id.
  package var daemon: Int32 { process?.processIdentifier ?? 0 }

  private static func isMountPoint(_ path: String) -> Bool {
    // Foundation reads at most 8 KiB of it.
    guard let bytes = try? FileSystem.read("/proc/self/mountinfo", atMost: 64 << 20) else {
      return false
    }
    return String(decoding: bytes, as: UTF8.self).contains(" \(path) ")
      && (try? FileSystem.status(path + "/.")) != nil
  }

  /// Runs a bash script in the mount.
  @discardableResult
  package func shell(
    _ script: String, seconds: Int = 30, environment: [String: String] = [:]
  ) throws -> ShellResult {
    try TestSupport.shell(script, in: path, seconds: seconds, environment: environment)
  }

  /// Kills the daemon as a crash would, and takes the dead mount away.
  package func kill() throws {
    guard let process else { return }
    _ = Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    self.process = nil
    _ = try TestSupport.shell("umount -l '\(path)'")
  }

  /// Ends the daemon with SIGTERM and waits for it.
  package func unmount() throws {
    guard let process else { return }
    _ = Foundation.kill(process.processIdentifier, SIGTERM)
    guard eventually(seconds: 60, { !process.isRunning }) else {
      throw Failure(description: "the daemon did not end: \(daemonLog)")
    }
    self.process = nil
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw Failure(
        description: "the daemon ended with \(process.terminationStatus): \(daemonLog)")
    }
  }

  /// The names of all versions, oldest first.
  package func versions() throws -> [String] {
    try shell("ls .llvs/versions").output.split(separator: "\n").map(String.init)
  }

  package func tearDown() {
    if let process, process.isRunning {
      _ = Foundation.kill(process.processIdentifier, SIGTERM)
      if !eventually(seconds: 20, { !process.isRunning }) {
        _ = Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      }
    }
    _ = try? TestSupport.shell(
      "umount -l '\(path)' 2>/dev/null; rm -rf --one-file-system '\(directory)'")
  }
}
