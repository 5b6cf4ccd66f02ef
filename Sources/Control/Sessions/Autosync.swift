import Documents
import Grammar
package import LLVSCore
import Platform

/// Syncs with all peers at the interval of `autosync`, varied at random so that replicas do not sync together, and
/// changed documents (``DocumentWatch``). No versions below the reserve, no merges with `automerge=off`.
/// - Concurrency: two threads of its own.
package final class Autosync: Sendable {
  private let service: ControlService
  private let thread = ServiceThread()
  private let documents: DocumentWatch

  package init(_ service: ControlService) {
    self.service = service
    documents = DocumentWatch(wake: { [service] in service.wakeAutosync() })
  }

  package func start() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      try documents.start()
      try thread.start { [self] in run() }
    }
  }

  /// Ends the thread and its exchange, and waits for it.
  package func stop() {
    documents.stop()
    thread.end { service.wakeAutosync() }
  }

  private func run() {
    while !thread.isEnding {
      let seen = service.settingsChanged.withLock { $0 }
      let settings = service.settings
      let interval = settings.isolated ? nil : settings.autosync
      followDocuments(interval != nil)
      // A changed setting, or another peer, starts a new interval, which varies by a quarter.
      let wait = interval.map { $0 - $0 / 4 + UInt64.random(in: 0...$0 / 2) }
      waitForChange(of: seen, wait.map { SystemClock.monotonic() + $0 })
    }
  }

  /// Syncs due documents until the time is over, then all peers; returns early if settings or peers change.
  private func waitForChange(of seen: UInt64, _ end: UInt64?) {
    while true {
      let due = documents.due
      let now = SystemClock.monotonic()
      let next = [end, due].compactMap { $0 }.min()
      let wake = service.settingsChanged.wait(nanoseconds: next.map { $0 > now ? $0 - now : 0 }) {
        (changes) -> Wake? in
        if changes != seen || thread.isEnding { return .changed }
        return due == nil && documents.due != nil ? .document : nil
      }
      switch wake {
      case .changed: return
      case .document: continue
      case nil: break
      }
      if let end, SystemClock.monotonic() >= end { return sync([]) }
      // Documents that other programs changed and that are now idle.
      let names = documents.take(at: SystemClock.monotonic())
        .filter { !service.documentMemory.isUntouched($0.address, service.store) }.map(\.name)
      if !names.isEmpty { sync(names) }
    }
  }

  private enum Wake { case changed, document }

  private func followDocuments(_ isOn: Bool) {
    var addresses: [String: DocumentAddress] = [:]
    if isOn {
      for peer in (try? service.allPeers()) ?? [] {
        guard case .document(let address)? = try? PeerAddress(peer.address) else { continue }
        addresses[peer.name] = address
      }
    }
    documents.follow(addresses)
  }

  private func sync(_ names: [String]) {
    do throws(ControlError) {
      guard try !service.allPeers().isEmpty else { return }
      let context = CommandContext(isCancelled: { [self] in thread.isEnding }, isAutomatic: true)
      defer { service.store.contents.releaseMemory() }
      _ = try service.run(SyncCommand(peers: names), context: context)
    } catch {
      // The service has recorded the error in the log and in the status.
    }
  }
}
