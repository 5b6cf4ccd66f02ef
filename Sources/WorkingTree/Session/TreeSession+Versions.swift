import Events
import Grammar
package import Inodes
package import LLVSCore
import Platform
import TreeNames

/// The closures called when the head moves.
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

extension TreeSession {
  /// Sets the closure called with the outcome of each transition, before the next one begins.
  package func listen(_ body: @escaping @Sendable (CutOutcome) -> Void) { listeners.listen(body) }

  /// Sets the closure called with the names that a transition changed, after the kernel was notified.
  package func listenForShown(_ body: (@Sendable ([ShownChange]) -> Void)?) {
    listeners.listenForShown(body)
  }

  /// Frees space on a full disk: dead bytes of the journal, and its reserve; false if there is none to free.
  package func makeRoom() -> Bool { versioner.makeRoom() }
  /// Frees the room of the journal for removals, when ``makeRoom()`` was not enough.
  package func giveUpRoom() -> Bool { journal.giveUpRoom() }
  /// Allots again what ``makeRoom()`` and ``giveUpRoom()`` freed, as far as the disk has space.
  package func keepRoom() { journal.keepRoom() }

  package func notifyKernel(_ notices: [KernelNotice]) { listeners.notify(notices) }
  /// Ends the wait for the quiet period now and for every later cut, before shutdown.
  package func hurry() { versioner.hurry() }
  /// Applies a changed quiet period to a waiting cut.
  package func noteSettings() { versioner.setSettle(storeSettings.settle) }

  /// Makes a version of everything saved.
  /// - Throws: ``StoreError``; then everything stays pending.
  package func cut(_ reason: CutReason, message: String? = nil) throws(StoreError) -> CutOutcome {
    try transition(reason, message: message, goOn: nil)
  }

  /// Makes a version of everything saved, then moves the head as `goOn` says, in one transaction. What the head
  /// loses at and below the paths `kept` stays in the tree.
  /// - Throws: the error of the store or of `goOn`; then the head is unchanged and everything stays pending.
  package func transition(
    _ reason: CutReason, message: String? = nil, headReason: HeadReason = .cut,
    keeping kept: [TreePath] = [],
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(StoreError) -> CutOutcome {
    try withoutActuallyEscaping(goOn) { (goOn) throws(StoreError) in
      try transition(
        reason, message: message, headReason: headReason, keeping: kept, goOn: goOn)
    }
  }

  private func transition(
    _ reason: CutReason, message: String?, headReason: HeadReason = .cut,
    keeping kept: [TreePath] = [], goOn: Versioner.GoOn?
  ) throws(StoreError) -> CutOutcome {
    let settings = storeSettings
    var request = CutRequest(
      reason,
      maker: CutMaker(
        author: settings.maker, message: message,
        arbiter: ChosenArbiter.maker(settings.arbiters, store, ArbiterTrials(telling: self))),
      headReason: headReason)
    request.kept = kept
    try StoreError.wrapping { () throws(FSError) in
      try files.savePaused(at: .now, settle: settings.settle)
    }
    let outcome = try versioner.transition(request, goOn: goOn)
    for path in outcome.unreadable {
      damage.tell(
        "its bytes cannot be read; versions leave it out",
        of: String(decoding: path.bytes, as: UTF8.self))
    }
    for path in outcome.withoutBase {
      say(
        "\(String(decoding: path.bytes, as: UTF8.self)): versions leave it out, because old bytes of it are forgotten"
      )
    }
    listeners.notify(outcome)
    return outcome
  }
}

extension CutOutcome {
  /// The files that were left out because they are not saved.
  package var allUnsaved: [[UInt8]] { (unsaved + unsavedOrphans).map(\.bytes) }
  /// Those of them that have their names.
  package var unsavedPaths: [[UInt8]] { unsaved.map(\.bytes) }
  /// The files that were left out because their bytes are damaged.
  package var damagedPaths: [[UInt8]] { unreadable.map(\.bytes) }
  /// The files that were left out because old bytes of them are forgotten.
  package var withoutBasePaths: [[UInt8]] { withoutBase.map(\.bytes) }
}
