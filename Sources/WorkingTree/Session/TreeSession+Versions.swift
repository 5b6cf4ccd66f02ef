import Events
import Grammar
import Inodes
package import LLVSCore
import Platform
import TreeNames

/// The closures that are called when the head moves.
final class Listeners: Sendable {
  private let kernel: @Sendable ([KernelNotice]) -> Void
  private let shown = Monitor<(@Sendable ([ShownChange]) -> Void)?>(nil)
  private let outcome = Monitor<(@Sendable (CutOutcome) -> Void)?>(nil)

  init(kernel: @escaping @Sendable ([KernelNotice]) -> Void) { self.kernel = kernel }

  func listen(_ body: @escaping @Sendable (CutOutcome) -> Void) { outcome.withLock { $0 = body } }

  func listenForShown(_ body: (@Sendable ([ShownChange]) -> Void)?) { shown.withLock { $0 = body } }

  func notify(_ notices: [KernelNotice]) { if !notices.isEmpty { kernel(notices) } }

  func notify(_ changes: HeadChanges) {
    notify(changes.notices)
    if !changes.shown.isEmpty { shown.withLock { $0 }?(changes.shown) }
  }

  func notify(_ result: CutOutcome) { outcome.withLock { $0 }?(result) }
}

// Making versions and moving the head, as the store's settings say.

extension TreeSession {
  /// From so many changed names on the memory of a cut is worth returning, which takes some milliseconds.
  private static let largeCut = 10_000

  /// Sets the closure that is called with the outcome of each transition, while the next ones wait for their turn.
  package func listen(_ body: @escaping @Sendable (CutOutcome) -> Void) { listeners.listen(body) }

  /// Sets the closure that is called with the names that a transition changed in the tree, after the kernel was
  /// notified.
  package func listenForShown(_ body: (@Sendable ([ShownChange]) -> Void)?) {
    listeners.listenForShown(body)
  }

  /// Notifies the kernel of names that were made without its doing.
  package func notifyKernel(_ notices: [KernelNotice]) { listeners.notify(notices) }

  /// Has a cut that waits for quiet go on at once, and every later one: the end is near.
  package func hurry() { versioner.hurry() }

  /// Has a cut that waits for quiet look how long that is now.
  package func noteSettings() { versioner.setSettle(storeSettings.settle) }

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
    _ reason: CutReason, message: String?, headReason: HeadReason = .cut, goOn: Versioner.GoOn?
  ) throws(StoreError) -> CutOutcome {
    let settings = storeSettings
    let request = CutRequest(
      reason,
      maker: CutMaker(
        author: settings.maker, message: message,
        arbiter: ChosenArbiter.maker(settings.arbiters, store, ArbiterTrials(telling: self))),
      headReason: headReason)
    try StoreError.wrapping { () throws(FSError) in
      try files.savePaused(at: Self.now(), settle: settings.settle, isOverdue: reason == .overdue)
    }
    let outcome = try versioner.transition(request, goOn: goOn)
    if let version = outcome.cut { log.add(.version, "\(version.name) \(outcome.summary.text)") }
    for path in outcome.unreadable {
      damage.tell(
        "its bytes cannot be read; versions leave it out",
        of: String(decoding: path.bytes, as: UTF8.self))
    }
    if outcome.summary.count >= Self.largeCut { SystemMemory.trim() }
    listeners.notify(outcome)
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
