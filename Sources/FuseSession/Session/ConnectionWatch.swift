// Ends connections whose daemon has died.
//
// The kernel ends a connection when no process has its descriptor open. A killed daemon may never end: a thread
// that notifies the kernel of a name waits, uninterruptibly, for the lock of a directory that a program holds, and
// that program waits for the daemon's answer (fuse_reverse_inval_entry and fuse_atomic_open take the same lock).
// All descriptors stay open while the process has one thread, so programs, waiters for the store's lock and callers
// on the mount would wait forever. A daemon's thread with a request to its own mount has the same effect.
//
// So a small process, forked before the daemon has threads or memory, has one end of a pipe. A waiting thread of
// the daemon with its own descriptor table has the other end, which closes when the daemon is killed. Then, or when
// the daemon reports a crash (its core dump waits for all threads), the process writes to the `abort` files of the
// connections (fusectl, Documentation/filesystems/fuse.rst). It has open descriptors of them, because numbers of
// connections are reused, and ends with the daemon. Without it (it was killed, fusectl is not mounted, or a stack
// overflowed), MountedStores+Dead.swift does the rest.

import CFuseShims
import Glibc
import Platform
import Synchronization

/// A process that ends the connections of this one when this one dies.
/// - Concurrency: callable from any thread, except ``init()``.
package final class ConnectionWatch: Sendable {
  private let words: Int32

  /// Starts the process; called once, before this process has a second thread.
  package init?() {
    var (life, words): (Int32, Int32) = (-1, -1)
    let length = SystemProcess.arguments.reduce(0) { $0 + $1.count + 1 }
    guard unsafe llvs_start_watcher(length, &life, &words) == 0 else { return nil }
    self.words = words
    // Both descriptors stay open until the process ends; closing signals the end.
    do throws(SystemError) {
      let pipe = life
      let isAlone = Monitor<Bool?>(nil)
      try SystemThread.detach(name: "llvs-life") {
        let isKept = llvs_keep_only(pipe) == 0
        isAlone.withLock { $0 = isKept }
        isAlone.broadcast()
        while true { pause() }
      }
      let isKept = isAlone.wait { isKept -> Bool? in isKept }
      if isKept == true { close(life) }
    } catch {
      // All threads then share the descriptor; it closes when the last of them has ended.
    }
    llvs_tell_of_crashes(words)
  }

  /// Ends a mount's connection when this process ends; `path` was mounted just now, as the kernel spells it.
  func guardConnection(mountedAt path: String) {
    guard let entry = (try? MountTable())?.mount(at: Array(path.utf8)) else { return }
    let abort = MountPoint.connection(device: entry.device)
    guard abort >= 0 else { return }
    _ = llvs_hand_over(words, abort)
    close(abort)
  }
}

extension MountPoint {
  /// Opens the file that ends a mount's connection; negative without permission.
  fileprivate static func connection(device: String) -> Int32 {
    guard device.hasPrefix("0:"), let number = UInt32(device.dropFirst(2)) else { return -1 }
    return llvs_open_connection(number)
  }

  /// Ends the connection of a dead mount by its device, `major:minor`: callers get ENOTCONN, and the mount stays.
  /// - Returns: False without permission, for example to an ordinary user without fusectl.
  package static func endConnection(device: String) -> Bool {
    let abort = connection(device: device)
    guard abort >= 0 else { return false }
    defer { close(abort) }
    return unsafe write(abort, "1", 1) == 1
  }
}
