internal import CShims
internal import Glibc

extension SystemThread {
  /// A number that tells the calling thread from all others that run now.
  package static var current: UInt { pthread_self() }

  /// Gives the calling thread the lowest priority, for work that nobody waits for.
  package static func yieldToOthers() {
    // In Linux the priority is that of a thread, and 0 means the calling one: setpriority(2). If it
    // fails, the thread only runs more often.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
  }

  /// The kernel's id of the calling thread (gettid(2)), which tells it from all of the machine.
  package static var kernelID: Int32 { llvs_thread_id() }
}
