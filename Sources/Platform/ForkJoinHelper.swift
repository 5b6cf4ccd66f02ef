internal import CShims

/// A thread that does a part of somebody's work while that thread does the rest.
///
/// It starts when it is first needed and ends when it was not for a while. Whoever has work for it while
/// it is busy, or where there is a single processor, does all of it himself.
///
/// - Concurrency: callable from any thread.
package final class ForkJoinHelper: Sendable {
  /// How long it waits for more, in nanoseconds.
  private static let patience: UInt64 = 1_000_000_000

  /// Run by one thread, while the one that it came from waits for the end.
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

  /// Creates one; /proc shows the first 15 bytes of `name`.
  package init(name: String) { self.name = name }

  /// Does two parts of some work, at the same time where that can be; returns when both are done.
  package func share(_ part: @escaping () -> Void, beside own: () -> Void) {
    let isOffered = offer(Work(run: part))
    own()
    guard isOffered else { return part() }
    let comesBack = shared.withLock { shared -> Bool in
      guard case .offered = shared.state else { return false }
      shared.state = .free
      return true
    }
    // It has not woken up yet: that would not be sooner than doing it here.
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
        // What nobody takes is done by who offered it.
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
