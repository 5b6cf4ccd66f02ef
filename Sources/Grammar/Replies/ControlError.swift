/// Why a command was not done: a kind that stands for an errno, and the words of the reply.
package struct ControlError: Error, Hashable, Sendable {
  package enum Kind: Hashable, Sendable, CaseIterable {
    /// The line is no command.
    case grammar
    /// No such version, peer, branch or path.
    case notFound
    case unreachable
    case timedOut
    /// The histories have no common ancestor.
    case unrelated
    case notPermitted
    case busy
    case noSpace
    case readOnly
    /// Interrupted by who asked.
    case interrupted
    /// An earlier command of this handle failed and its reply was not read.
    case refused
    case tooLong
    /// The name is taken.
    case exists
    /// The store is damaged.
    case damaged
  }

  package var kind: Kind
  /// A clause without a final period.
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
