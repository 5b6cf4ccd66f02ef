package import Grammar
import TreeNames

/// How far a command is.
package struct CommandProgress: Hashable, Sendable {
  /// A few words: what is being done.
  package var what: String
  package var done: Int
  /// 0 where nobody knows.
  package var total: Int

  package init(_ what: String, done: Int, total: Int) {
    self.what = what
    self.done = done
    self.total = total
  }
}

/// What a command is given by who asked for it.
package struct CommandContext: Sendable {
  /// Asked often; true ends the command with ``ControlError/Kind/interrupted``.
  package var isCancelled: @Sendable () -> Bool
  package var progress: @Sendable (CommandProgress) -> Void
  /// Nobody asked: what settings say of automatic versions and merges holds for it too.
  package var isAutomatic: Bool

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

/// What a command came to.
package struct CommandResult: Sendable {
  /// A line, or a few, without the last newline; what peers have named does nothing to a terminal.
  package let text: String
  package var fields: [ReplyField]

  package init(_ text: String, _ fields: [ReplyField] = []) {
    self.text = PrintableText.harmless(text)
    self.fields = fields
  }

  /// For programs: that it went well, the fields, and the text where no field is called so.
  package var json: String {
    var all = [ReplyField("ok", .flag(true))] + fields
    if !fields.contains(where: { $0.name == "text" }) { all.append(ReplyField("text", text)) }
    return ReplyValue.record(all).json
  }
}
