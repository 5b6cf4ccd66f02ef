import Grammar
import Platform
private import Synchronization

/// Who keeps changes out of versions for a while, so that a program's many files become one version
/// (docs/control-file.md).
///
/// One handle holds at a time. What it holds ends when it commits, when it is closed, which also
/// happens if the program is killed, or when the time is up. Then changes are saved as ever.
///
/// - Concurrency: any thread; a leaf lock.
package final class VersionHolds: Sendable {
  /// An open control file.
  package struct Handle: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)
    private let number: UInt64

    init() { number = Self.last.add(1, ordering: .relaxed).newValue }
  }

  private struct Hold {
    var handle: Handle
    /// On the monotonic clock.
    var end: UInt64
  }

  private let hold = Monitor<Hold?>(nil)

  init() {}

  /// The time that is left, in nanoseconds; nil while nothing is held.
  package var left: UInt64? {
    let now = SystemClock.monotonic()
    return hold.withLock { hold in hold.flatMap { $0.end > now ? $0.end - now : nil } }
  }

  /// Waits until no handle but this one holds; nil stands for no handle.
  ///
  /// - Throws: ``ControlError`` of kind interrupted.
  func wait(for handle: Handle?, _ isCancelled: () -> Bool) throws(ControlError) {
    while !hold.withLock({ Self.isFree($0, for: handle) }) {
      if isCancelled() { throw ControlError(.interrupted, "interrupted") }
      // Also wakes up to see whether it was cancelled and whether the time is up.
      _ = hold.wait(nanoseconds: 100_000_000) { Self.isFree($0, for: handle) ? true : nil }
    }
  }

  /// Begins to hold; false if another handle does.
  func begin(_ handle: Handle, nanoseconds: UInt64) -> Bool {
    hold.withLock { hold in
      guard Self.isFree(hold, for: handle) else { return false }
      hold = Hold(handle: handle, end: SystemClock.monotonic() + nanoseconds)
      return true
    }
  }

  /// Ends what a handle holds, if it does.
  func end(of handle: Handle) {
    hold.withLock { hold in if hold?.handle == handle { hold = nil } }
    hold.broadcast()
  }

  private static func isFree(_ hold: Hold?, for handle: Handle?) -> Bool {
    guard let hold, hold.handle != handle else { return true }
    return hold.end <= SystemClock.monotonic()
  }
}

extension ControlService {
  /// Takes what was saved so far into a version, then keeps what follows out of versions.
  func hold(_ nanoseconds: UInt64, _ context: CommandContext) throws(ControlError) -> CommandResult
  {
    guard let handle = context.handle else {
      throw ControlError(.grammar, "hold needs an open control file, which is closed at its end")
    }
    // Others wait from here on, so that the version has nothing of what the holder writes next.
    while !holds.begin(handle, nanoseconds: nanoseconds) {
      try holds.wait(for: handle, context.isCancelled)
    }
    do throws(ControlError) {
      try cut()
    } catch {
      holds.end(of: handle)
      throw error
    }
    return CommandResult(
      "held for \(Measure.text(duration: nanoseconds)); commit or close ends it",
      [ReplyField("milliseconds", .number(Int64(nanoseconds / 1_000_000)))])
  }
}

extension ControlCommand {
  /// True if the command may make a version, and so waits while another handle holds.
  var waitsForHolds: Bool {
    switch self {
    case .retrieve, .set, .ignore, .verify, .tag, .removeTag, .renameTag: false
    default: !isQuery
    }
  }
}
