import LLVS
import Platform

/// Brings what is pending to the disk at least every five seconds: rule 6 of section 4.
///
/// Beside ``Autosaver``, not in it: a version may take long to be made, and what is written meanwhile is not
/// to wait for that.
///
/// - Concurrency: a thread of its own.
final class PendingSync: Sendable {
  private struct State {
    var isStopping = false
    var hasEnded = false
    var isWoken = false
  }

  /// How long what was written may be away from the disk.
  private static let interval: UInt64 = 5_000_000_000

  private let tree: LiveTree
  private let state = Monitor(State())

  /// Prepares a thread for a live tree.
  init(_ tree: LiveTree) { self.tree = tree }

  /// Starts the thread.
  ///
  /// - Throws: ``StoreError/system(_:)`` where there can be no thread.
  func start() throws(StoreError) {
    do throws(SystemError) {
      try SystemThread.detach { [self] in run() }
    } catch {
      state.withLock { $0.hasEnded = true }
      throw .system(error)
    }
  }

  /// Ends the thread and waits until it has.
  func stop() {
    state.withLock { $0.isStopping = true }
    state.broadcast()
    _ = state.wait { $0.hasEnded ? true : nil }
  }

  /// Something has become pending.
  func wake() {
    state.withLock { $0.isWoken = true }
    state.broadcast()
  }

  private func run() {
    defer {
      state.withLock { $0.hasEnded = true }
      state.broadcast()
    }
    while !state.withLock({ $0.isStopping }) {
      // Where a sync has failed it is tried again, whatever is pending.
      if !tree.hasPending, !tree.journal.hasUnsynced, tree.refusalReason == nil {
        _ = state.wait { $0.isWoken || $0.isStopping ? true : nil }
      }
      state.withLock { $0.isWoken = false }
      _ = state.wait(nanoseconds: Self.interval) { $0.isStopping ? true : nil }
      sync()
    }
  }

  private func sync() {
    if tree.journal.isDueForRenewal() {
      // Half of it, else it would be written for little.
      _ = tree.renewJournal(toFree: tree.journal.generationEnd.end / 2)
    }
    do throws(FSError) {
      try tree.sync()
    } catch {
      // Told once: until it is over, the journal's own line in status says so.
      tree.damage.tell("what is pending could not be brought to the disk: \(error)")
    }
  }
}

extension LiveTree {
  /// Whether anything is in no version yet.
  var hasPending: Bool { lock.withLock { _ in firstPending != nil } }
}
