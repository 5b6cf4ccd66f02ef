import Foundation
import LLVSMount
import Platform

/// What a run mounts: a daemon in a process of its own, as `llvs mount --foreground` runs one.
enum BenchDaemon {
  static let verb = "--daemon"

  static func run(_ arguments: [String]) -> Int32 {
    guard arguments.count == 2 else { return 2 }
    // Before the first thread is started: one thread of ours takes them.
    Signals.block(Signals.endings)
    do throws(MountError) {
      let daemon = try MountDaemon(
        MountRequest(store: arguments[0], mountPoint: arguments[1]))
      try? SystemThread.detach {
        _ = Signals.wait(for: Signals.endings)
        daemon.end()
      }
      try daemon.serve()
      return 0
    } catch {
      FileHandle.standardError.write(Data("llvs: bench: \(error).\n".utf8))
      return 1
    }
  }
}
