import Foundation
import FuseSession
import LLVSMount
import Platform

/// A directory that is measured.
protocol Contender: AnyObject {
  var name: String { get }
  var path: String { get }
  /// The process that serves it; nil for none.
  var process: Process? { get }
  func start() throws
  func stop()
}

extension Contender {
  /// Restarts it with empty caches.
  func restart(cold place: BenchPlace) throws {
    stop()
    try place.dropCaches()
    try start()
  }

  func waitUntilMounted(at place: String? = nil) throws {
    let end = SystemClock.monotonic() + 120_000_000_000
    while try MountTable().mount(at: Array((place ?? path).utf8)) == nil {
      guard process?.isRunning == true else {
        throw BenchError.unavailable("\(name) did not mount (is /dev/fuse there?)")
      }
      guard SystemClock.monotonic() < end else {
        throw BenchError.failed("\(name) did not mount within two minutes")
      }
      SystemClock.sleep(nanoseconds: 5_000_000)
    }
    _ = try FileSystem.status(path)
  }
}

/// A store of ours, mounted by this program in another process.
final class OwnMount: Contender {
  let name = "llvs"
  let store: String
  let path: String
  /// True if it is mounted with `-o fasthistory`.
  var hurriesHistory = false
  /// What its process has besides ``BenchProcess/environment``.
  var environment: [String: String] = [:]
  private(set) var process: Process?

  init(store: String, at path: String) {
    self.store = store
    self.path = path
  }

  func start() throws {
    process = try BenchProcess.start(
      [try BenchProcess.llvs.get(), "mount", store, path, "--foreground"]
        + (hurriesHistory ? ["-o", "fasthistory"] : []), environment: environment)
    try waitUntilMounted()
    if hurriesHistory { try waitUntilMounted(at: HistoryMount.path(below: path)) }
  }

  func stop() {
    guard let process else { return }
    self.process = nil
    process.terminate()
    process.waitUntilExit()
  }

  /// Ends the daemon as a crash does, and frees the place where it mounted.
  func kill() throws {
    guard let process else { return }
    self.process = nil
    try BenchProcess.call(["kill", "-9", "\(process.processIdentifier)"])
    process.waitUntilExit()
    try MountPoint.unmount(path)
  }

  /// Gives a line to the control file.
  func command(_ line: String) throws {
    try File("\(path)/.llvs/control", .write).write(Array("\(line)\n".utf8), at: 0)
  }
}

/// The example of libfuse, compiled from the source that the distribution installs.
final class Passthrough: Contender {
  let name: String
  let path: String
  private let program: String
  private let source: String
  private let buffersWrites: Bool
  private(set) var process: Process?

  /// With `buffersWrites` false, every write reaches the daemon before write(2) returns.
  init(_ program: String, source: String, at path: String, buffersWrites: Bool = true) {
    name = buffersWrites ? "passthrough_ll" : "the same, no cache"
    self.program = program
    self.source = source
    self.path = path
    self.buffersWrites = buffersWrites
  }

  static func build(in place: BenchPlace) -> Result<String, BenchError> {
    let source = "/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c"
    let program = "\(place.root)/passthrough_ll"
    do {
      guard try FileSystem.exists(source) else {
        return .failure(.unavailable("\(source) is not there (libfuse3-dev)"))
      }
      try BenchProcess.call([
        "sh", "-c",
        "cc -O2 -o '\(program)' '\(source)' $(pkg-config fuse3 --cflags --libs)",
      ])
      return .success(program)
    } catch {
      return .failure(.unavailable("passthrough_ll.c does not compile (\(error))"))
    }
  }

  func start() throws {
    process = try BenchProcess.start([
      program, "-f", "-o",
      "source=\(source),cache=always" + (buffersWrites ? ",writeback" : ""), path,
    ])
    try waitUntilMounted()
  }

  func stop() {
    guard let process else { return }
    self.process = nil
    try? MountPoint.unmount(path)
    if (try? MountTable().mount(at: Array(path.utf8))) != nil { process.terminate() }
    process.waitUntilExit()
  }
}

/// The disk itself, without FUSE.
final class PlainDirectory: Contender {
  let name = "disk"
  let path: String
  let process: Process? = nil

  init(_ path: String) {
    self.path = path
  }

  func start() {}
  func stop() {}
}
