internal import CShims
internal import Glibc

extension SystemThread {
  package static var current: UInt { pthread_self() }

  /// Gives the calling thread the lowest priority, for work that no thread waits for.
  package static func yieldToOthers() {
    // In Linux a priority belongs to a thread, and 0 is the calling one (setpriority(2)). A failure does no harm.
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
  }

  /// gettid(2).
  package static var kernelID: Int32 { llvs_thread_id() }
}
