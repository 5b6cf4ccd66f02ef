package import LLVSCore
internal import Synchronization

/// The two kinds of files of the original's format.
package enum WireKind: String, Sendable, CaseIterable {
  case version = "versions"
  case changes = "changes"
}

/// A place with versions in the original's format: a folder, a server, another store.
///
/// - Concurrency: several threads may open files at once, and write different files, also while
///   others are published; everything else is for one thread at a time.
package protocol WireRemote: VersionSource where Changes == WireInput {
  /// Opens a file for reading; nil if it is not there.
  func open(_ kind: WireKind, _ id: Version.ID) throws(StoreError) -> WireInput?

  /// Writes a file that no reader sees before ``publish(_:)``.
  func write(
    _ kind: WireKind, _ id: Version.ID, _ body: (WireOutput) throws(StoreError) -> Void
  ) throws(StoreError)

  /// Makes versions whose two files are written visible, durably: all changes first, then the
  /// versions in the order given.
  func publish(_ ids: [Version.ID]) throws(StoreError)

  /// Removes what was written and not published.
  func abandon()
}

/// Lets an exchange be cancelled, and reports its progress.
package struct ExchangeControl {
  /// The progress of an exchange.
  package struct Progress: Hashable, Sendable {
    /// The steps of an exchange.
    package enum Phase: Hashable, Sendable { case listing, reading, storing, sending }

    /// The current step.
    package var phase: Phase
    /// The number of versions that are done.
    package var done: Int
    /// The number of all versions; 0 while it is unknown.
    package var total: Int
  }

  /// Called often, between and inside files, by one thread at a time; true cancels the exchange.
  package let isCancelled: () -> Bool
  /// Called with the progress.
  package let progress: (Progress) -> Void
  private let asking = Asking()

  /// Creates a control; by default nothing is cancelled or reported.
  package init(
    isCancelled: @escaping () -> Bool = { false },
    progress: @escaping (Progress) -> Void = { _ in }
  ) {
    self.isCancelled = isCancelled
    self.progress = progress
  }

  /// Throws ``StoreError/cancelled`` if the exchange is cancelled; callable from any thread.
  func check() throws(StoreError) {
    if asking.turn.withLock({ _ in isCancelled() }) { throw .cancelled }
  }

  /// Lets one thread at a time call `isCancelled`. A leaf lock, except for locks that the closure
  /// acquires.
  private final class Asking: Sendable {
    let turn = Mutex(())
  }

  func report(_ phase: Progress.Phase, _ done: Int, of total: Int) {
    progress(Progress(phase: phase, done: done, total: total))
  }
}

/// The result of an exchange.
package struct ExchangeReport: Sendable {
  /// A version that was not accepted, and the reason.
  package struct Fault: Hashable, Sendable, Error {
    /// The version's id; for a bundle, the name of its file.
    package var id: Version.ID
    /// The reason, as a clause without a period.
    package var reason: String
  }

  /// Versions that are new in the store, predecessors first.
  package var taken: [Version.ID] = []
  /// Their numbers.
  var takenNumbers: [VersionNumber] = []
  /// Versions that break a rule, and their descendants; nothing of them is stored. Of a send, those
  /// that were not sent because something in them is damaged, with their descendants.
  package var refused: [Fault] = []
  /// Versions that are incomplete on the other side.
  package var waiting: [Fault] = []
  /// Versions that the store lacks and that are missing or incomplete on the other side, although
  /// another version there is based on them or one of their two files is there.
  package var absent: Set<Version.ID> = []
  /// Versions that are new on the other side.
  package var sent: [Version.ID] = []
  /// All versions that were on the other side when the exchange began.
  package var remoteIDs: [Version.ID] = []

  /// Sentences without a period for whoever asked for the exchange.
  package var notes: [String] = []
  /// True if both sides are as the last exchange left them, so that its notes hold still.
  package var isAsBefore = false

  package init() {}

  /// Returns the versions that were sent, if all that should be sent were.
  ///
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
    notes += other.notes
    // Versions that were sent in two forms count once.
    let (known, there) = (Set(sent), Set(remoteIDs))
    sent += other.sent.filter { !known.contains($0) }
    remoteIDs += other.remoteIDs.filter { !there.contains($0) }
  }
}
