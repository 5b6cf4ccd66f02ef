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
    /// A file of another program is damaged, or is not what it should be.
    case malformed
    /// The machine, or this build, cannot do it.
    case unsupported
  }

  /// The kind, which decides the errno.
  package var kind: Kind
  /// A clause without a final period.
  package var message: String

  /// The parts of a command that were carried out before it failed.
  package struct Done: Hashable, Sendable {
    /// Sentences; empty if nothing was done.
    package var text: String
    /// The same for programs.
    package var fields: [ReplyField]

    /// Creates it.
    package init(text: String, fields: [ReplyField]) {
      self.text = text
      self.fields = fields
    }
  }

  /// The parts that were carried out; nil for a command that failed as a whole.
  package var done: Done?

  /// The error for programs: `ok` is false, `error` the kind, `message` its text; if a part was carried out,
  /// `text` and the fields of the command's reply too.
  package var fields: [ReplyField] {
    let failure = [
      ReplyField("ok", .flag(false)), ReplyField("error", kind.rawValue),
      ReplyField("message", message),
    ]
    guard let done else { return failure }
    return failure + [ReplyField("text", done.text)] + done.fields
  }

  /// The fields on one line.
  package var json: String { ReplyValue.record(fields).json }

  /// Creates an error; the message is a clause without a final period.
  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
