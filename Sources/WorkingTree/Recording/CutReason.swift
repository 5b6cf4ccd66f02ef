/// The reason for a cut, which decides which saves count.
package enum CutReason: Sendable {
  /// A command, an unmount or SIGTERM: every save counts.
  case command
  /// Nothing was saved or renamed for `settle`.
  case quiet
  /// The first pending change is 60 s old, so logs and databases are taken between writes.
  case overdue
}
