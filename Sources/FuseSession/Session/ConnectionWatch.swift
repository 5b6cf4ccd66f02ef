// Ends connections whose daemon has died.
//
// The kernel ends a connection when no process has its descriptor open any more. A daemon that was
// killed may never get that far. A thread of it that notifies the kernel of a name waits,
// uninterruptibly, for the lock of a directory that a program holds, and that program waits for the
// daemon's answer (fuse_reverse_inval_entry and fuse_atomic_open take the same lock). All
// descriptors stay open as long as the process has one thread, so programs, waiters for the store's
// lock and callers on the mount would wait for ever. The same holds for a thread of the daemon that
// makes a request to its own mount.
//
// So a small process runs next to the daemon, forked before the daemon has threads or memory. It has
// one end of a pipe. The other end belongs to a thread of the daemon that only waits, and has a
// descriptor table of its own: so that end closes when the daemon is killed, even if other threads
// are held. Then, or when the daemon reports a crash (whose core dump waits for all threads), the
// process writes to the `abort` files of the connections (fusectl,
// Documentation/filesystems/fuse.rst). It was passed open descriptors of them, since numbers of
// connections are reused. It needs no path, holds nothing of the store or the mount open, and ends
// with the daemon. Without it (it was killed, an ordinary user finds no fusectl mounted, or a
// thread's stack overflowed so that the crash is not reported), MountedStores+Dead.swift does what
// remains.

import CShims
import Glibc
import Platform
import Synchronization

/// A process next to this one that ends the connections of this one when it dies.
///
/// - Concurrency: callable from any thread, except ``init()``.
package final class ConnectionWatch: Sendable {
  private let words: Int32

  /// Starts the process; called once, before this process has a second thread. Nil if it cannot be
  /// started.
  package init?() {
    var (life, words): (Int32, Int32) = (-1, -1)
    let length = SystemProcess.arguments.reduce(0) { $0 + $1.count + 1 }
    guard unsafe llvs_start_watcher(length, &life, &words) == 0 else { return nil }
    self.words = words
    // Both descriptors stay open until the process ends: their closing is the signal that it has.
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
      // The descriptor is then shared with all threads: it closes when the last of them has ended.
    }
    llvs_tell_of_crashes(words)
  }

  /// Makes the watcher end a mount's connection when this process ends.
  ///
  /// - Parameter path: the mount point, mounted just now, as the kernel spells it.
  func guardConnection(mountedAt path: String) {
    guard let entry = (try? MountTable())?.mount(at: Array(path.utf8)) else { return }
    let abort = MountPoint.connection(device: entry.device)
    guard abort >= 0 else { return }
    _ = llvs_hand_over(words, abort)
    close(abort)
  }
}

extension MountPoint {
  /// Opens the file that ends a mount's connection when something is written to it; negative if
  /// that is not permitted.
  fileprivate static func connection(device: String) -> Int32 {
    guard device.hasPrefix("0:"), let number = UInt32(device.dropFirst(2)) else { return -1 }
    return llvs_open_connection(number)
  }

  /// Ends the connection of a mount whose daemon is dead, given its device, `major:minor`: all
  /// callers that wait for answers get ENOTCONN.
  ///
  /// The mount stays, dead. Nothing is sent to the file system.
  ///
  /// - Returns: False if that is not permitted, for example to an ordinary user if fusectl is not
  ///   mounted.
  package static func endConnection(device: String) -> Bool {
    let abort = connection(device: device)
    guard abort >= 0 else { return false }
    defer { close(abort) }
    return unsafe write(abort, "1", 1) == 1
  }
}
