/// The two kinds of files that an exchange consists of.
package enum WireKind: String, Sendable, CaseIterable {
  case version = "versions"
  case changes = "changes"
}

/// A place that holds versions in the original's format: a folder, a server, another store.
///
/// What it holds is not trusted; an implementation answers for transport alone.
///
/// - Concurrency: used by one thread at a time, but for ``write(_:_:_:)``: files of different kinds may be
///   written by two threads at once.
package protocol WireRemote: AnyObject {
  /// The ids of what is there, in no order; names that cannot be a version's are left out.
  ///
  /// - Throws: ``StoreError/unreachable(_:)`` if the place is not there.
  func versionIDs() throws(StoreError) -> [Version.ID]

  /// Opens a file for reading; nil if it is not there.
  func open(_ kind: WireKind, _ id: Version.ID) throws(StoreError) -> WireInput?

  /// Writes a file that nobody sees before ``publish()``.
  func write(
    _ kind: WireKind, _ id: Version.ID, _ body: (WireOutput) throws(StoreError) -> Void
  ) throws(StoreError)

  /// Makes what was written visible, durably: changes first, then versions.
  func publish() throws(StoreError)

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

  /// Asked often, between and inside files.
  package var isCancelled: () -> Bool
  package var progress: (Progress) -> Void

  package init(
    isCancelled: @escaping () -> Bool = { false },
    progress: @escaping (Progress) -> Void = { _ in }
  ) {
    self.isCancelled = isCancelled
    self.progress = progress
  }

  func check() throws(StoreError) {
    if isCancelled() { throw .cancelled }
  }

  func report(_ phase: Progress.Phase, _ done: Int, of total: Int) {
    progress(Progress(phase: phase, done: done, total: total))
  }
}

/// What an exchange came to.
package struct ExchangeReport: Sendable {
  /// A version that was not taken, and why.
  package struct Fault: Hashable, Sendable {
    package var id: Version.ID
    package var reason: String
  }

  /// Versions that are new here, predecessors first.
  package var taken: [Version.ID] = []
  /// Versions that break a rule, and their descendants; nothing of them is stored.
  package var refused: [Fault] = []
  /// Versions of which something is not there yet.
  package var waiting: [Fault] = []
  /// Versions that are new there.
  package var sent: [Version.ID] = []
  /// All that was there when the exchange began.
  package var remoteIDs: [Version.ID] = []

  package init() {}
}
