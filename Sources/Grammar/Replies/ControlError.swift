/// The reason why a command failed: a kind, which maps to an errno, and the text of the reply.
package struct ControlError: Error, Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case grammar
    case notFound
    case unreachable
    case timedOut
    case unrelated
    /// The user or the store does not permit it.
    case notPermitted
    /// A lock is held, or a change is not saved.
    case busy
    case noSpace
    case readOnly
    case interrupted
    /// An earlier command of this handle failed, and its reply has not been read.
    case refused
    case tooLong
    case exists
    case damaged
    /// Bytes of an old version are missing because this store forgot them; the rest may be done.
    case forgotten
    /// A file of another program is damaged, or of another kind.
    case malformed
    /// The machine, or this build, cannot do it.
    case unsupported
  }

  package var kind: Kind
  /// A clause without a final period.
  package var message: String

  /// The completed parts of a failed command: sentences, and the same for programs.
  package struct Done: Hashable, Sendable {
    package var text: String
    package var fields: ReplyValue

    package init(text: String, fields: ReplyValue) {
      self.text = text
      self.fields = fields
    }
  }

  /// Nil for a command that failed as a whole.
  package var done: Done?

  /// The error as JSON: `ok` false, `error` the kind, `message`, and the reply of a completed part.
  package var reply: ReplyValue {
    ["ok": false, "error": kind.rawValue, "message": message]
      + (done.map { ["text": $0.text] + $0.fields } ?? [:])
  }

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
