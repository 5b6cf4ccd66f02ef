/// The reason that a cut is made, which decides which saves count.
package enum CutReason: Sendable {
  /// A command, unmount or SIGTERM asks: every save counts.
  case command
  /// Nothing was saved or renamed for `settle`.
  case quiet
  /// The first pending change is 60 s old: logs and databases are taken as they stand.
  case overdue
}
