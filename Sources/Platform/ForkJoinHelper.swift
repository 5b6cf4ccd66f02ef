internal import CShims

/// A thread that does one part of a task while the calling thread does the rest.
///
/// The thread starts when it is first needed and ends after a second without work. A caller that
/// finds it busy, or runs on a single processor, does the whole task itself.
///
/// - Concurrency: callable from any thread.
package final class ForkJoinHelper: Sendable {
  /// The time that the thread waits for more work, in nanoseconds.
  private static let patience: UInt64 = 1_000_000_000

  /// Unchecked: one thread runs it, while the thread that it came from waits for the end.
  private struct Work: @unchecked Sendable {
    let run: () -> Void
  }

  private enum State {
    case free
    case offered(Work)
    case underWay
    case done
  }

  private struct Shared {
    var state = State.free
    var hasThread = false
  }

  private let name: String
  private let shared = Monitor(Shared())
  private let hasCompany = llvs_processor_count() > 1

  /// Creates a helper; /proc shows the first 15 bytes of `name` for its thread.
  package init(name: String) { self.name = name }

  /// Runs two parts of a task, at the same time where possible; returns when both are done.
  package func share(_ part: @escaping () -> Void, beside own: () -> Void) {
    let isOffered = offer(Work(run: part))
    own()
    guard isOffered else { return part() }
    let comesBack = shared.withLock { shared -> Bool in
      guard case .offered = shared.state else { return false }
      shared.state = .free
      return true
    }
    // The helper has not woken up yet: running the part here is at least as fast.
    if comesBack { return part() }
    shared.wait { shared -> Void? in
      guard case .done = shared.state else { return nil }
      shared.state = .free
      return ()
    }
  }

  private func offer(_ work: Work) -> Bool {
    guard hasCompany else { return false }
    let (isOffered, starts) = shared.withLock { shared -> (Bool, Bool) in
      guard case .free = shared.state else { return (false, false) }
      shared.state = .offered(work)
      defer { shared.hasThread = true }
      return (true, !shared.hasThread)
    }
    if isOffered { shared.broadcast() }
    if starts {
      do throws(SystemError) {
        try SystemThread.detach(name: name) { [self] in serve() }
      } catch {
        // Work that no thread accepts is done by the caller.
        shared.withLock { $0.hasThread = false }
      }
    }
    return isOffered
  }

  private func serve() {
    while true {
      let work = shared.wait(nanoseconds: Self.patience) { shared -> Work? in
        guard case .offered(let work) = shared.state else { return nil }
        shared.state = .underWay
        return work
      }
      guard let work else {
        let ends = shared.withLock { shared -> Bool in
          if case .offered = shared.state { return false }
          shared.hasThread = false
          return true
        }
        if ends { return }
        continue
      }
      work.run()
      shared.withLock { $0.state = .done }
      shared.broadcast()
    }
  }
}
