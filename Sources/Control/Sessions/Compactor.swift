import Events
import Grammar
package import LLVSCore
import Platform
private import Synchronization
import TreeNames
import WorkingTree

/// Forgets old versions by itself, with a `keep` other than `all`.
///
/// It does so at most once a day when the mount is quiet, if a tenth of the store or 256 MiB come free, and also under
/// load, if more comes free than the head has and than 64 MiB. Its thread has the lowest priority.
/// - Concurrency: a thread of its own.
package final class Compactor: Sendable {
  /// The time between two looks, in nanoseconds.
  private static let glance: UInt64 = 60_000_000_000
  private static let idleGlance: UInt64 = 600_000_000_000
  private static let day: Int64 = 86_400_000_000_000
  /// More bytes than these are always worth a run when the mount is quiet.
  private static let quietBytes: UInt64 = 256 << 20
  /// Fewer bytes than these are never worth a run under load.
  private let loadBytes: UInt64
  /// The pause after a run under load, as a multiple of its duration.
  private static let pauseFactor: UInt64 = 20

  private struct State {
    /// The last version at the look before.
    var lastNumber: UInt32?
    var isIdle = false
    /// No run under load begins before this boottime.
    var pauseEnd: UInt64 = 0
    /// The last version at the newest run under load.
    var loadedNumber: UInt32?
    /// The bytes of a head, by the digest of its map.
    var head: (digest: Digest, bytes: UInt64)?
    var lastError = ""
  }

  private let service: ControlService
  private let thread = ServiceThread()
  private let state = Mutex(State())

  package init(_ service: ControlService, loadBytes: UInt64 = 64 << 20) {
    self.service = service
    self.loadBytes = loadBytes
  }

  package func start() throws(StoreError) {
    try StoreError.translating(
      try thread.start { [self] in
        SystemThread.yieldToOthers()
        while !thread.isEnding {
          let seen = service.settingsChanged.withLock { $0 }
          let wait = service.settings.keep.keepsEverything ? nil : pause
          let isChanged = service.settingsChanged.wait(nanoseconds: wait) { changes in
            changes != seen || thread.isEnding ? true : nil
          }
          if isChanged == nil { look() }
        }
      })
  }

  /// Ends the thread and its run, and waits for it.
  package func stop() { thread.end { service.wakeAutosync() } }

  /// The time until the next look, in nanoseconds: longer if no version was made between the last two.
  private var pause: UInt64 { state.withLock { $0.isIdle } ? Self.idleGlance : Self.glance }

  /// Checks once if a run is due, and does it.
  package func look() {
    do throws(ControlError) {
      try translating { try lookNow() }
      state.withLock { $0.lastError = "" }
    } catch {
      if error.kind == .interrupted { return }
      let isNew = state.withLock { state in
        defer { state.lastError = error.message }
        return state.lastError != error.message
      }
      if isNew { service.log.add("error", "compact: \(error.message)") }
    }
  }

  private func lookNow() throws {
    let keep = service.settings.keep
    guard !keep.keepsEverything, try service.noteClock() == nil else { return }
    let newest = try service.store.state().lastNumber
    let isQuiet = isQuiet(at: newest)
    let used = try service.segmentBytes
    if isQuiet, isDayOver {
      try service.noteTried()
      let least = max(1, min(used / 10, Self.quietBytes))
      return try run(keep) { $0.freeableBytes >= least }
    }
    guard used > loadBytes else { return }
    let now = service.clock.boottime()
    let isDue = state.withLock { $0.pauseEnd <= now && $0.loadedNumber != newest }
    guard isDue else { return }
    let head = try headBytes()
    let least = max(head, loadBytes)
    guard used > head, used - head > least else { return }
    defer {
      let end = service.clock.boottime()
      state.withLock {
        $0.pauseEnd = end + max(Self.glance, (end - min(end, now)) * Self.pauseFactor)
        $0.loadedNumber = newest
      }
    }
    try run(keep) { $0.freeableBytes > least }
  }

  /// True if nothing is pending, no command runs and no version was made since the look before.
  private func isQuiet(at newest: UInt32) -> Bool {
    let wasSame = state.withLock { state in
      state.isIdle = state.lastNumber == newest
      state.lastNumber = newest
      return state.isIdle
    }
    return wasSame && service.tree.nextCut() == nil
      && service.underWay.withLock { $0.commands.isEmpty }
  }

  private var isDayOver: Bool {
    guard let tried = service.compactionRecord.tried else { return true }
    let now = service.clock.now()
    return now < tried || now - tried >= Self.day
  }

  private func run(_ keep: KeepPolicy, isWorthIt: @escaping (ForgetReport) -> Bool) throws {
    let context = CommandContext(isCancelled: { [thread] in thread.isEnding }, isAutomatic: true)
    defer { service.store.contents.releaseMemory() }
    _ = try service.shown(CompactCommand(isDryRun: false), context) { context in
      let done = try service.compact(keep, isTrial: false, context, isWorthIt: isWorthIt)
      return CommandResult(done.text(keep), done.reply(keep))
    }
  }

  private func headBytes() throws(StoreError) -> UInt64 {
    guard let head = try service.store.headRecord() else { return 0 }
    if let known = state.withLock({ $0.head }), known.digest == head.map.digest {
      return known.bytes
    }
    var bytes: UInt64 = 0
    var entries = TreeView(map: service.store.map(of: head)).entries(below: [])
    while let (_, entry) = try entries.next() { bytes += entry.stored.length }
    state.withLock { [bytes] in $0.head = (head.map.digest, bytes) }
    return bytes
  }
}

extension ControlService {
  /// The bytes on the disk of everything that versions have.
  fileprivate var segmentBytes: UInt64 {
    get throws {
      let folder = "\(store.path)/segments"
      return try FileSystem.list(folder).reduce(0) {
        $0 + (try FileSystem.status("\(folder)/\($1)").allocated)
      }
    }
  }
}
