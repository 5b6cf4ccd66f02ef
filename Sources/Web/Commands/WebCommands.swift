package import Control
package import Grammar

/// Runs commands on the store: through the control file of a mounted one, directly otherwise.
package struct WebCommands: Sendable {
  package typealias Failure = ControlError

  package var run:
    @Sendable (_ words: [[UInt8]], _ context: CommandContext) throws(Failure) -> String
  /// Stores bytes as the value at a path and settles its conflict; returns a reply in JSON.
  package var settle: @Sendable (_ path: [UInt8], _ bytes: [UInt8]) throws(Failure) -> String
  package var status: @Sendable () throws(Failure) -> String

  package init(
    run: @escaping @Sendable ([[UInt8]], CommandContext) throws(Failure) -> String,
    settle: @escaping @Sendable ([UInt8], [UInt8]) throws(Failure) -> String,
    status: @escaping @Sendable () throws(Failure) -> String
  ) {
    self.run = run
    self.settle = settle
    self.status = status
  }
}
