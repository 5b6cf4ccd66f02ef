package import Grammar
import ObjectStores
import Platform
import TreeNames

package struct CommandProgress: Hashable, Sendable {
  package var what: String
  package var done: Int
  /// The number of all steps; 0 if unknown.
  package var total: Int
  /// True if steps are bytes.
  package var isBytes: Bool

  package init(_ what: String, done: Int, total: Int, isBytes: Bool = false) {
    self.what = what
    self.done = done
    self.total = total
    self.isBytes = isBytes
  }

  package init(_ what: String, bytes: UInt64, of total: UInt64) {
    self.init(what, done: Int(clamping: bytes), total: Int(clamping: total), isBytes: true)
  }

  /// The steps in words: `3 of 12`, `5.0 MB of 41 MB`; empty before the first of an unknown number.
  package var steps: String {
    func text(_ count: Int) -> String {
      isBytes ? ByteCount.text(UInt64(clamping: count)) : "\(count)"
    }
    return total > 0 ? "\(text(done)) of \(text(total))" : done > 0 ? text(done) : ""
  }
}

/// The caller's functions for a command: cancelling it and reporting its progress.
package struct CommandContext: Sendable {
  /// Called often; true ends the command with ``ControlError/Kind/interrupted``.
  package var isCancelled: @Sendable () -> Bool
  package var progress: @Sendable (CommandProgress) -> Void
  /// True if no user requested the command: the settings for automatic versions and merges apply to it too.
  package var isAutomatic: Bool
  /// The open control file of the command; nil for none.
  package var handle: VersionHolds.Handle?

  package init(
    isCancelled: @escaping @Sendable () -> Bool = { false },
    progress: @escaping @Sendable (CommandProgress) -> Void = { _ in },
    isAutomatic: Bool = false
  ) {
    self.isCancelled = isCancelled
    self.progress = progress
    self.isAutomatic = isAutomatic
  }

  func check() throws(ControlError) {
    if isCancelled() { throw ControlError(.interrupted, "interrupted") }
  }
}

package struct CommandResult: Sendable {
  /// One or more lines, without the last newline; control characters in names from peers are escaped.
  package let text: String
  package let reply: ReplyValue

  package init(_ text: String, _ reply: ReplyValue = [:]) {
    self.text = PrintableText.harmless(text)
    self.reply = reply
  }

  /// The result in JSON: success, the reply, and the text unless a field has that name.
  package var json: String {
    (["ok": true] + reply + (reply["text"] == nil ? ["text": text] : [:])).json
  }
}
