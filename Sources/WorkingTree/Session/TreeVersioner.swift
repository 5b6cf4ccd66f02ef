package import Events
import Grammar
import Inodes
package import LLVSCore
import Platform
import TreeNames

/// Moves the head of a working tree as the store's settings say, and tells the log and those who listen.
///
/// - Concurrency: any thread; one transition at a time. Programs go on meanwhile.
package final class TreeVersioner: Sendable {
  /// From so many changed names on the memory of a cut is worth returning, which takes some milliseconds.
  private static let largeCut = 10_000

  /// The working tree.
  package let tree: LiveTree
  private let log: EventLog
  private let telling: @Sendable ([KernelNotice]) -> Void
  private let listener = Monitor<(@Sendable (CutOutcome) -> Void)?>(nil)
  private let shownListener: Monitor<(@Sendable ([ShownChange]) -> Void)?>

  /// Creates a versioner of a tree.
  ///
  /// - Parameters:
  ///   - tree: the tree.
  ///   - log: gets a line for each version, and what went wrong.
  ///   - telling: tells the kernel, and returns after it has heard.
  package init(
    tree: LiveTree, log: EventLog, telling: @escaping @Sendable ([KernelNotice]) -> Void
  ) {
    self.tree = tree
    self.log = log
    self.telling = telling
    let shownListener = Monitor<(@Sendable ([ShownChange]) -> Void)?>(nil)
    self.shownListener = shownListener
    tree.damage.listen { log.add("error", $0) }
    tree.listener.withLock {
      $0 = { changes in
        if !changes.notices.isEmpty { telling(changes.notices) }
        if !changes.shown.isEmpty { shownListener.withLock { $0 }?(changes.shown) }
      }
    }
  }

  deinit {
    // The listener may hold the tree, and the tree the listener.
    tree.listener.withLock { $0 = nil }
  }

  /// Has somebody told of what each transition did, while the next ones wait for their turn.
  package func listen(_ body: @escaping @Sendable (CutOutcome) -> Void) {
    listener.withLock { $0 = body }
  }

  /// Has somebody told of the names that transitions change in the tree, once the kernel has heard of them.
  package func listenForShown(_ body: (@Sendable ([ShownChange]) -> Void)?) {
    shownListener.withLock { $0 = body }
  }

  /// Tells the kernel of names that were made without its doing.
  package func tell(_ notices: [KernelNotice]) {
    if !notices.isEmpty { telling(notices) }
  }

  /// Has a cut that waits for quiet go on at once, and every later one: the end is near.
  package func hurry() { tree.engine.hurry() }

  /// Has a cut that waits for quiet look how long that is now.
  package func noteSettings() { tree.engine.setSettle(tree.storeSettings.settle) }

  /// Makes a version of everything that is saved.
  ///
  /// - Throws: ``StoreError``; everything that was pending still is.
  package func cut(_ reason: CutReason, message: String? = nil) throws(StoreError) -> CutOutcome {
    try transition(reason, message: message, goOn: nil)
  }

  /// Makes a version of everything that is saved, then moves the head to where `goOn` says, in one transaction.
  ///
  /// - Throws: the error of the store or of `goOn`; the head is where it was, and all that was pending still is.
  package func transition(
    _ reason: CutReason, message: String? = nil, headReason: HeadReason = .cut,
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(StoreError) -> CutOutcome {
    try withoutActuallyEscaping(goOn) { (goOn) throws(StoreError) in
      try transition(reason, message: message, headReason: headReason, goOn: goOn)
    }
  }

  private func transition(
    _ reason: CutReason, message: String?, headReason: HeadReason = .cut,
    goOn: Versioner.GoOn?
  ) throws(StoreError) -> CutOutcome {
    let settings = tree.storeSettings
    let request = CutRequest(
      reason,
      maker: CutMaker(
        author: settings.maker, message: message,
        arbiter: ChosenArbiter.maker(
          settings.arbiters, tree.store, ArbiterTrials(telling: tree))),
      headReason: headReason)
    try StoreError.wrapping { () throws(FSError) in
      try tree.files.savePaused(
        at: LiveTree.now(), settle: settings.settle, isOverdue: reason == .overdue)
    }
    let outcome = try tree.engine.transition(request, goOn: goOn)
    if let version = outcome.cut { log.add(.version, "\(version.name) \(outcome.summary.text)") }
    for path in outcome.unreadable {
      tree.damage.tell(
        "its bytes cannot be read; versions leave it out",
        of: String(decoding: path.bytes, as: UTF8.self))
    }
    if outcome.summary.count >= Self.largeCut { SystemMemory.trim() }
    listener.withLock { $0 }?(outcome)
    return outcome
  }
}

extension CutOutcome {
  /// The paths of files that were left out because they are not saved.
  package var allUnsaved: [[UInt8]] { (unsaved + unsavedOrphans).map(\.bytes) }
  /// The same of files that have their names.
  package var unsavedPaths: [[UInt8]] { unsaved.map(\.bytes) }
  /// The paths of files that were left out because their bytes are not what was written.
  package var damagedPaths: [[UInt8]] { unreadable.map(\.bytes) }
}
