/// The reason that a command was not carried out: a kind, which maps to an errno, and the text of
/// the reply.
package struct ControlError: Error, Hashable, Sendable {
  /// The kinds of failures, each with an errno of its own or shared.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The line is no command.
    case grammar
    /// No such version, peer, branch or path.
    case notFound
    /// A peer cannot be reached.
    case unreachable
    /// A peer does not answer.
    case timedOut
    /// The histories have no common ancestor.
    case unrelated
    /// The user or the store does not permit it.
    case notPermitted
    /// A lock is held, or a change is not saved.
    case busy
    /// No space is left.
    case noSpace
    /// The store is open for reading only.
    case readOnly
    /// The caller interrupted the command.
    case interrupted
    /// An earlier command of this handle failed, and its reply has not been read.
    case refused
    /// The command is too long.
    case tooLong
    /// The name is in use already.
    case exists
    /// The store is damaged.
    case damaged
    /// The machine, or this build, cannot do it.
    case unsupported
  }

  /// The kind, which decides the errno.
  package var kind: Kind
  /// A clause without a final period.
  package var message: String

  /// The error for programs, on one line: `ok` is false, `error` the kind, and `message` its text.
  package var json: String {
    ReplyValue.record([
      ReplyField("ok", .flag(false)), ReplyField("error", kind.rawValue),
      ReplyField("message", message),
    ]).json
  }

  /// Creates an error; the message is a clause without a final period.
  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
