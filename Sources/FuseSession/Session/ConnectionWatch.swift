// The end of connections whose daemon has died.
//
// The kernel ends a connection when nobody has its descriptor open any more. A daemon that was killed may
// never come to that: a thread that tells the kernel of a name waits, and no signal ends that, for a directory
// that a program holds, and that program waits for the daemon's answer (fuse_reverse_inval_entry and
// fuse_atomic_open take the same lock). All descriptors stay open for as long as the process has one thread,
// so programs, the store's lock and whoever looks at the mount would wait for ever. The same holds for a
// thread of the daemon that asks something of its own mount.
//
// So a small process stands beside the daemon, forked before that has threads or memory. It has one end of a
// pipe; the other one belongs to a thread of the daemon that does nothing but wait, in a table of descriptors
// of its own, so that it closes when the daemon is killed, whatever other threads wait for. Then, or when
// the daemon tells of a crash (whose dump of memory waits for all threads), the process writes to the `abort`
// files of the connections (fusectl, Documentation/filesystems/fuse.rst), which it was handed open: numbers of
// connections are used again. It needs no path, holds nothing of the store or of the mount, and ends with the
// daemon. Where it is killed, where an ordinary user finds no fusectl mounted, or where the stack of a thread
// has come to its end and with it the telling, all is as without it: MountedStores+Dead.swift.

import CShims
import Glibc
import Platform
import Synchronization

/// A process beside this one that ends the connections of this one when it dies.
///
/// - Concurrency: callable from any thread, but for ``init()``.
package final class ConnectionWatch: Sendable {
  private let words: Int32

  /// Starts it; called once, before this process has a second thread. Nil where there can be none.
  package init?() {
    var (life, words): (Int32, Int32) = (-1, -1)
    let length = SystemProcess.arguments.reduce(0) { $0 + $1.count + 1 }
    guard unsafe llvs_start_watcher(length, &life, &words) == 0 else { return nil }
    self.words = words
    // Both are kept until the process ends: that they close says that it has.
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
      // Shared with all threads: told when the last of them has ended.
    }
    llvs_tell_of_crashes(words)
  }

  /// Has the connection of a mount ended with this process.
  ///
  /// - Parameter path: where it was mounted just now, as the kernel spells it.
  func guardConnection(mountedAt path: String) {
    guard let entry = (try? MountTable())?.mount(at: Array(path.utf8)) else { return }
    let abort = MountPoint.connection(device: entry.device)
    guard abort >= 0 else { return }
    _ = llvs_hand_over(words, abort)
    close(abort)
  }
}

extension MountPoint {
  /// Opens what ends a mount's connection when something is written to it; negative where that may not be.
  fileprivate static func connection(device: String) -> Int32 {
    guard device.hasPrefix("0:"), let number = UInt32(device.dropFirst(2)) else { return -1 }
    return llvs_open_connection(number)
  }

  /// Ends the connection of a mount whose daemon is dead, by its device, `major:minor`: all who wait for
  /// answers are told that nobody is there.
  ///
  /// The mount stays where it is, dead. The file system is not asked anything.
  ///
  /// - Returns: false where that may not be done, as by an ordinary user where fusectl is not mounted.
  package static func endConnection(device: String) -> Bool {
    let abort = connection(device: device)
    guard abort >= 0 else { return false }
    defer { close(abort) }
    return unsafe write(abort, "1", 1) == 1
  }
}
