package import Grammar

/// The commands that the page can give; others of the control file are refused.
///
/// Nothing here names a program, an address or a setting: who can use the page can change files,
/// and no more.
package enum PageCommand: Equatable, Sendable {
  /// Makes a version of what is saved.
  case commit(message: String?)
  /// Exchanges with all peers.
  case sync
  /// Merges the other heads of the line.
  case merge
  /// Makes a version as an older one; without a path the whole tree.
  case restore(version: String, path: [UInt8]?)
  /// Goes back by one change.
  case undo
  /// Makes the change again that undo took back.
  case redo
  /// Settles a conflict with one of its sides; `seen` is the state of the conflict that was shown.
  case settle(path: [UInt8], side: String, seen: String)
  /// Settles a conflict with a text.
  case settleText(path: [UInt8], text: [UInt8], seen: String)

  /// Reads the fields of a request.
  ///
  /// - Throws: ``ControlError`` of kind grammar.
  package init(_ form: FormBody) throws(ControlError) {
    func text(_ name: String) throws(ControlError) -> String {
      guard let bytes = form[name], let text = String(validating: bytes, as: UTF8.self),
        !text.isEmpty, text.utf8.count <= 4096
      else { throw ControlError(.grammar, "\(name) is missing, too long or no text") }
      return text
    }
    func path() throws(ControlError) -> [UInt8] {
      guard let path = form["path"], !path.isEmpty, path.count <= 4096, !path.contains(0) else {
        throw ControlError(.grammar, "path is missing or too long")
      }
      return path
    }
    switch try text("command") {
    case "commit":
      self = .commit(message: form["message"].map(\.isEmpty) ?? true ? nil : try text("message"))
    case "sync": self = .sync
    case "merge": self = .merge
    case "restore":
      self = .restore(
        version: try text("version"), path: form["path"] == nil ? nil : try path())
    case "undo": self = .undo
    case "redo": self = .redo
    case "settle":
      let side = try text("side")
      guard Self.isSide(side) else { throw ControlError(.grammar, "\(side) is not a side") }
      self = .settle(path: try path(), side: side, seen: try text("seen"))
    case "settle-text":
      guard let bytes = form["text"] else { throw ControlError(.grammar, "text is missing") }
      self = .settleText(path: try path(), text: bytes, seen: try text("seen"))
    case let other: throw ControlError(.grammar, "the page has no command \(other)")
    }
  }

  private static func isSide(_ word: String) -> Bool {
    if ["ours", "theirs", "base"].contains(word) { return true }
    return word.hasPrefix("theirs.") && Int(word.dropFirst(7)).map { $0 > 1 } ?? false
  }

  /// The words of the command; nil for a text, which is no command of the control file.
  package var words: [[UInt8]]? {
    func words(_ texts: String...) -> [[UInt8]] { texts.map { Array($0.utf8) } }
    // With a slash before it no path is taken for an option.
    func word(_ path: [UInt8]) -> [UInt8] { [0x2F] + path }
    return switch self {
    case .commit(let message): words("commit") + (message.map { words($0) } ?? [])
    case .sync: words("sync")
    case .merge: words("merge")
    case .restore(let version, let path):
      words("restore", version) + (path.map { [word($0)] } ?? [])
    case .undo: words("undo")
    case .redo: words("redo")
    case .settle(let path, let side, _): words("settle") + [word(path)] + words(side)
    case .settleText: nil
    }
  }

  /// The name, for people.
  package var title: String {
    switch self {
    case .commit: "commit"
    case .sync: "sync"
    case .merge: "merge"
    case .restore: "restore"
    case .undo: "undo"
    case .redo: "redo"
    case .settle, .settleText: "settle"
    }
  }
}
