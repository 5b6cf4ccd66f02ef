package import Inodes
package import LLVSCore

package struct CutRequest: Sendable {
  package var reason: CutReason
  /// The author, the message, and the arbiter of clashes.
  package var maker: CutMaker
  package var headReason: HeadReason
  /// The paths that stay in the tree, with all below them, though the head has them no more.
  package var kept: [TreePath] = []

  package init(_ reason: CutReason, maker: CutMaker = CutMaker(), headReason: HeadReason = .cut) {
    self.reason = reason
    self.maker = maker
    self.headReason = headReason
  }
}

package struct CutOutcome: Sendable {
  /// The newest version of what was saved; nil if nothing was.
  package var cut: VersionRecord?
  package var head: VersionRecord?
  package var before: VersionNumber?
  /// True if this transition made that head.
  package var isNew = false
  /// True if another transition was requested during the quiet period, so this one did nothing.
  package var gaveWay = false
  /// False if the tree does not show the head yet because its rows could not be written.
  package var isShown = true
  package var summary = CutSummary()
  /// The files that were left out because they are not saved.
  package var unsaved: [TreePath] = []
  /// The same for files that heads took names from.
  package var unsavedOrphans: [TreePath] = []
  /// The files that were left out because their bytes are damaged.
  package var unreadable: [TreePath] = []
  /// The files that were left out because their changes are made on bytes that the store has forgotten or never got.
  package var withoutBase: [TreePath] = []
  package init() {}

  /// Adds what stays out of versions.
  mutating func note(_ grouped: GroupedRecording) {
    unsaved = grouped.recording.unsaved
    unsavedOrphans = grouped.recording.unsavedOrphans
    unreadable = grouped.recording.unreadable
    withoutBase = grouped.recording.withoutBase
  }
}
