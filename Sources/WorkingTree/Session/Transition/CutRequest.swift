package import Inodes
package import LLVSCore
import Platform
import TreeNames

/// A request to a versioner.
package struct CutRequest: Sendable {
  /// Why the cut is made.
  package var reason: CutReason
  /// The author and the message of the versions, and the way in which clashes are decided.
  package var maker: CutMaker
  /// The reason in the log of heads.
  package var headReason: HeadReason

  package init(_ reason: CutReason, maker: CutMaker = CutMaker(), headReason: HeadReason = .cut) {
    self.reason = reason
    self.maker = maker
    self.headReason = headReason
  }
}

/// The outcome of a transition.
package struct CutOutcome: Sendable {
  /// The newest version that took what was saved; nil if nothing was.
  package var cut: VersionRecord?
  /// The head afterwards.
  package var head: VersionRecord?
  /// The head before.
  package var before: VersionNumber?
  /// True if this made the head that is there afterwards.
  package var isNew = false
  /// True if somebody else asked for a transition while this one waited for quiet: it did nothing.
  package var gaveWay = false
  /// False if the tree does not show the head yet, since its rows could not be written.
  package var isShown = true
  /// The summary of what the versions took in.
  package var summary = CutSummary()
  /// The paths of files that were left out because they are not saved.
  package var unsaved: [TreePath] = []
  /// The same of files that heads took their names from.
  package var unsavedOrphans: [TreePath] = []
  /// The paths of files that were left out because their bytes on the disk are not what was written.
  package var unreadable: [TreePath] = []
  /// Versions that changes were made on and that the store does not have: the head stood for them.
  package var missing: Set<VersionNumber> = []

  /// Creates the outcome of a transition that did nothing.
  package init() {}

  /// Takes over what was found and stays out of versions.
  mutating func note(_ grouped: GroupedRecording) {
    unsaved = grouped.recording.unsaved
    unsavedOrphans = grouped.recording.unsavedOrphans
    unreadable = grouped.recording.unreadable
    missing = grouped.missing
  }
}
