package import LLVSCore
internal import Synchronization

/// The two kinds of files that an exchange consists of.
package enum WireKind: String, Sendable, CaseIterable {
  case version = "versions"
  case changes = "changes"
}

/// A place that holds versions in the original's format: a folder, a server, another store.
///
/// - Concurrency: files may be opened by several threads at once, and different files written by several,
///   also while others are published; everything else is for one thread at a time.
package protocol WireRemote: VersionSource where Changes == WireInput {
  /// Opens a file for reading; nil if it is not there.
  func open(_ kind: WireKind, _ id: Version.ID) throws(StoreError) -> WireInput?

  /// Writes a file that nobody sees before ``publish(_:)``.
  func write(
    _ kind: WireKind, _ id: Version.ID, _ body: (WireOutput) throws(StoreError) -> Void
  ) throws(StoreError)

  /// Makes versions of which both files were written visible, durably: all changes first, then the versions
  /// in the order given.
  func publish(_ ids: [Version.ID]) throws(StoreError)

  /// Forgets what was written and not published.
  func abandon()
}

/// How an exchange is told to stop, and tells how far it is.
package struct ExchangeControl {
  package struct Progress: Hashable, Sendable {
    package enum Phase: Hashable, Sendable { case listing, reading, storing, sending }

    package var phase: Phase
    package var done: Int
    package var total: Int
  }

  /// Asked often, between and inside files, by one thread at a time.
  package let isCancelled: () -> Bool
  package let progress: (Progress) -> Void
  private let asking = Asking()

  package init(
    isCancelled: @escaping () -> Bool = { false },
    progress: @escaping (Progress) -> Void = { _ in }
  ) {
    self.isCancelled = isCancelled
    self.progress = progress
  }

  /// Throws ``StoreError/cancelled`` when the exchange is to stop; any thread may ask.
  func check() throws(StoreError) {
    if asking.turn.withLock({ _ in isCancelled() }) { throw .cancelled }
  }

  /// Sees to it that one thread asks at a time. A leaf lock but for what the closure takes.
  private final class Asking: Sendable {
    let turn = Mutex(())
  }

  func report(_ phase: Progress.Phase, _ done: Int, of total: Int) {
    progress(Progress(phase: phase, done: done, total: total))
  }
}

/// What an exchange came to.
package struct ExchangeReport: Sendable {
  /// A version that was not taken, and why.
  package struct Fault: Hashable, Sendable, Error {
    package var id: Version.ID
    package var reason: String
  }

  /// Versions that are new here, predecessors first.
  package var taken: [Version.ID] = []
  /// Their numbers.
  var takenNumbers: [VersionNumber] = []
  /// Versions that break a rule, and their descendants; nothing of them is stored. Of a send, those that
  /// were not sent because something of them is damaged, with their descendants.
  package var refused: [Fault] = []
  /// Versions of which something is not there yet.
  package var waiting: [Fault] = []
  /// Versions that are not here, and of which nothing or a part only is there, though something there was made
  /// from them or is the other part.
  package var absent: Set<Version.ID> = []
  /// Versions that are new there.
  package var sent: [Version.ID] = []
  /// All that was there when the exchange began.
  package var remoteIDs: [Version.ID] = []

  package init() {}

  /// What was sent, where that is all that was to be.
  func allSent() throws(StoreError) -> [Version.ID] {
    guard let fault = refused.first else { return sent }
    throw .corrupt("\(refused.count) versions cannot be sent: \(fault.reason)")
  }

  /// Adds what another exchange of the same versions came to.
  package mutating func add(_ other: ExchangeReport) {
    taken += other.taken
    takenNumbers += other.takenNumbers
    let refusals = Set(refused)
    refused += other.refused.filter { !refusals.contains($0) }
    waiting += other.waiting
    absent.formUnion(other.absent)
    // What went out in two forms went out once.
    let (known, there) = (Set(sent), Set(remoteIDs))
    sent += other.sent.filter { !known.contains($0) }
    remoteIDs += other.remoteIDs.filter { !there.contains($0) }
  }
}
