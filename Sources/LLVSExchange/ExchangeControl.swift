package import LLVSCore
internal import Synchronization

/// The two folders of the original's format.
package enum WireKind: String, Sendable, CaseIterable {
  case version = "versions"
  case changes = "changes"
}

/// Lets an exchange be cancelled, and reports its progress.
package struct ExchangeControl {
  package struct Progress: Hashable, Sendable {
    package enum Phase: String, Sendable { case listing, reading, storing, sending }

    package var phase: Phase
    /// The number of versions that are done, and of all; 0 while it is unknown.
    package var done: Int
    package var total: Int
    /// The bytes that this phase moves in all, as far as known; 0 while it is unknown.
    package var bytes: UInt64 = 0
  }

  /// Called often, by one thread at a time; true cancels the exchange.
  package let isCancelled: () -> Bool
  package private(set) var progress: (Progress) -> Void
  private let asking = Asking()

  package init(
    isCancelled: @escaping () -> Bool = { false },
    progress: @escaping (Progress) -> Void = { _ in }
  ) {
    self.isCancelled = isCancelled
    self.progress = progress
  }

  /// Returns the control of one part of a retrieval that has stored some versions. The number of all is known with the
  /// last part.
  func part(after stored: Int, isLast: Bool = false) -> ExchangeControl {
    var control = self
    control.progress = { [progress] step in
      // The list was read for all parts.
      guard step.phase != .listing else { return }
      var step = step
      if step.phase == .storing {
        step.done += stored
        step.total = isLast ? step.total + stored : 0
      }
      progress(step)
    }
    return control
  }

  /// Throws ``StoreError/cancelled`` after a cancellation; callable from any thread.
  func check() throws(StoreError) {
    if asking.turn.withLock({ _ in isCancelled() }) { throw .cancelled }
  }

  /// Lets one thread at a time call `isCancelled`. A leaf lock, except for locks of the closure.
  private final class Asking: Sendable {
    let turn = Mutex(())
  }

  func report(_ phase: Progress.Phase, _ done: Int, of total: Int, bytes: UInt64 = 0) {
    progress(Progress(phase: phase, done: done, total: total, bytes: bytes))
  }
}

package struct ExchangeReport: Sendable {
  /// A version that was not accepted, and the reason.
  package struct Fault: Hashable, Sendable, Error {
    /// For a bundle, the name of its file.
    package var id: Version.ID
    /// A clause without a period.
    package var reason: String
    /// True for a bundle, or another object that holds several versions.
    package var isObject = false
    /// True for a bundle that may be the only one with some versions.
    package var hidesVersions = false
    /// Why a bundle cannot be read, in words after "3 bundles".
    package var cause = "damaged"
    /// True for a bundle whose key this store lacks.
    package var isLocked: Bool { cause == BundleReader.locked }
    package var isNewer: Bool { cause == BundleReader.newer }
  }

  /// Versions that are new in the store, predecessors first, and their numbers.
  package var taken: [Version.ID] = []
  var takenNumbers: [VersionNumber] = []
  /// Versions that break a rule, or of a send those that are damaged, with their descendants.
  package var refused: [Fault] = []
  /// Versions that are incomplete on the other side.
  package var waiting: [Fault] = []
  /// Versions that something there refers to and that are missing both here and there.
  package var absent: Set<Version.ID> = []
  /// Versions of the store that refused and waiting versions continue from.
  package var awaited: Set<Version.ID> = []
  package var sent: [Version.ID] = []
  package var remoteIDs: [Version.ID] = []
  /// Sentences without a period for the user.
  package var notes: [String] = []
  /// True if damage that was found there may remain after a send.
  package var mayBeDamaged = false
  /// True if a send left no bundle there that cannot be read and is missed.
  package var leavesNoHole = false
  /// True if both sides are as the last exchange left them.
  package var isAsBefore = false
  package init() {}

  /// The versions that were found there and cannot be read, and those that they descend from, which are nowhere.
  package var unreadable: Set<Version.ID> {
    Set((refused + waiting).filter { !$0.isObject }.map(\.id)).union(absent)
  }

  /// Adds versions of a place that can be read there: those whose ancestors can all be read, too, are whole, and the
  /// others wait.
  /// - Complexity: O(versions + predecessors).
  mutating func addReadable(
    _ readable: [(id: Version.ID, predecessors: [Version.ID])], label: (Version.ID) -> String
  ) {
    let whole = Set(remoteIDs)
    var lacking: [Int] = []
    var followers: [Version.ID: [Int]] = [:]
    for (index, version) in readable.enumerated() {
      let missing = Set(version.predecessors).subtracting(whole)
      lacking.append(missing.count)
      for id in missing { followers[id, default: []].append(index) }
    }
    var ready = lacking.indices.filter { lacking[$0] == 0 }
    while let index = ready.popLast() {
      remoteIDs.append(readable[index].id)
      for follower in followers.removeValue(forKey: readable[index].id) ?? [] {
        lacking[follower] -= 1
        if lacking[follower] == 0 { ready.append(follower) }
      }
    }
    for (index, version) in readable.enumerated() where lacking[index] > 0 {
      waiting.append(
        Fault(id: version.id, reason: "\(label(version.id)): a predecessor cannot be read there"))
    }
    absent.formUnion(followers.keys)
  }

  /// Returns the versions that were sent if none was refused.
  /// - Throws: ``StoreError/corrupt(_:)`` otherwise.
  package func allSent() throws(StoreError) -> [Version.ID] {
    guard let fault = refused.first else { return sent }
    throw .corrupt("\(refused.count) versions cannot be sent: \(fault.reason)")
  }

  /// Adds the result of another exchange of the same versions.
  package mutating func add(_ other: ExchangeReport) {
    taken += other.taken
    takenNumbers += other.takenNumbers
    let refusals = Set(refused)
    refused += other.refused.filter { !refusals.contains($0) }
    waiting += other.waiting
    absent.formUnion(other.absent)
    awaited.formUnion(other.awaited)
    notes += other.notes
    mayBeDamaged = mayBeDamaged || other.mayBeDamaged
    leavesNoHole = leavesNoHole && other.leavesNoHole
    // Versions that were sent in two forms count once.
    let (known, there) = (Set(sent), Set(remoteIDs))
    sent += other.sent.filter { !known.contains($0) }
    remoteIDs += other.remoteIDs.filter { !there.contains($0) }
  }
}
