import Glibc
import Platform

/// Follows the kernel's options of a mount, which mount(8) changes with `remount`.
/// - Concurrency: callable from any thread.
package final class MountWatch: Sendable {
  private struct State {
    var entry: MountEntry?
    /// A pipe; writing to it ends the thread.
    var end: Int32?
    var isRunning = false
  }

  private let state = Monitor(State())
  private let changed: @Sendable (MountFlags) -> Void

  /// `changed` is called on a separate thread.
  package init(changed: @escaping @Sendable (MountFlags) -> Void) { self.changed = changed }
  package func follow(_ entry: MountEntry) { state.withLock { $0.entry = entry } }

  /// Starts the thread; ``stop()`` must follow.
  package func start() throws(FuseError) {
    let table = unsafe open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    guard table >= 0 else { throw .system(call: "open /proc/self/mountinfo", errno: errno) }
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else {
      let code = errno
      close(table)
      throw .system(call: "pipe", errno: code)
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (end, mine) = (ends[0], ends[1])
    state.withLock { ($0.end, $0.isRunning) = (mine, true) }
    do throws(SystemError) {
      try SystemThread.detach(name: "llvs-options") { [self] in
        watch(table, until: end)
        close(table)
        close(end)
        state.withLock { $0.isRunning = false }
        state.broadcast()
      }
    } catch {
      close(table)
      close(end)
      close(mine)
      state.withLock { ($0.end, $0.isRunning) = (nil, false) }
      throw .system(call: error.call, errno: error.errno)
    }
  }

  package func stop() {
    let end = state.withLock { state -> Int32? in
      defer { state.end = nil }
      return state.end
    }
    if let end {
      var byte: UInt8 = 0
      // The empty pipe has room.
      _ = unsafe write(end, &byte, 1)
      close(end)
    }
    state.wait { $0.isRunning ? nil : () }
  }

  // proc_pid_mounts(5): the table is ready (POLLERR) when mounts have changed.
  private func watch(_ table: Int32, until end: Int32) {
    var waits = [
      pollfd(fd: table, events: Int16(POLLPRI), revents: 0),
      pollfd(fd: end, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      look()
      let count = unsafe poll(&waits, 2, -1)
      if count < 0, errno != EINTR { return }
      if count > 0, waits[1].revents != 0 { return }
    }
  }

  private func look() {
    guard let table = try? MountTable() else { return }
    let now = state.withLock { state -> MountEntry? in
      guard let known = state.entry, let now = table.entries.first(where: { $0.id == known.id }),
        now.options != known.options
      else { return nil }
      state.entry = now
      return now
    }
    if let now { changed(MountFlags(of: now)) }
  }
}
