import Platform
import TestSupport
import Testing
import WorkingTree

@testable import LLVSMount

/// The tests of mounts that this process serves.
@Suite(.enabled(if: MountedStore.isPossible, "needs /dev/fuse and the right to mount"))
enum Served {}

/// A mount served by this process, so that a test can look into it, and make its calls fail.
final class ServedStore: Sendable {
  let directory: String
  let daemon: MountDaemon
  var path: String { directory + "/mnt" }

  init(_ directory: String, names: Int?, hurriesHistory: Bool) throws {
    self.directory = directory
    try FileSystem.makeDirectory(directory + "/mnt")
    var request = MountRequest(store: directory + "/store", mountPoint: directory + "/mnt")
    if let names { request.names = names }
    request.hurriesHistory = hurriesHistory
    daemon = try MountDaemon(request)
    try SystemThread.detach { [daemon] in try? daemon.serve() }
    #expect(daemon.awaitHistory() == nil)
  }

  static func with(
    names: Int? = nil, hurriesHistory: Bool = false, _ body: (ServedStore) throws -> Void
  ) throws {
    let directory = try TemporaryDirectory()
    let served = try ServedStore(
      directory.path, names: names, hurriesHistory: hurriesHistory)
    defer {
      served.daemon.end()
      _ = try? shell("umount -l '\(served.path)' 2>/dev/null; true")
    }
    try body(served)
  }

  func run(_ script: String, seconds: Int = 30) throws -> String {
    let result = try shell(script, in: path, seconds: seconds)
    #expect(result.status == 0, "\(result.output)")
    return result.output
  }
}
