package import Grammar

/// A command that the page can give; others of the control file are refused. It never names a program, an address
/// or a setting: a user of the page can change files, and no more.
package struct PageCommand: Sendable {
  package let title: String
  /// The words of the command; nil for a text, which is no command of the control file.
  package private(set) var words: [[UInt8]]?
  /// The path of the conflict to settle, and its state when it was shown; nil for another command.
  private(set) var conflict: (path: [UInt8], seen: String)?
  private(set) var text: [UInt8] = []

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
    let name = try text("command")
    title = name == "settle-text" ? "settle" : name
    let verb = Array(name.utf8)
    switch name {
    case "commit":
      let hasMessage = form["message"].map { !$0.isEmpty } ?? false
      words = [verb] + (hasMessage ? [Array(try text("message").utf8)] : [])
    case "sync", "merge", "undo", "redo": words = [verb]
    case "restore":
      // After a slash no path is parsed as an option.
      let path = form["path"] == nil ? [] : [[0x2F] + (try path())]
      words = [verb, Array(try text("version").utf8)] + path
    case "settle":
      let side = try text("side")
      guard Self.isSide(side) else { throw ControlError(.grammar, "\(side) is not a side") }
      conflict = (try path(), try text("seen"))
      words = [verb, [0x2F] + (try path()), Array(side.utf8)]
    case "settle-text":
      guard let bytes = form["text"] else { throw ControlError(.grammar, "text is missing") }
      conflict = (try path(), try text("seen"))
      self.text = bytes
    default: throw ControlError(.grammar, "the page has no command \(name)")
    }
  }

  private static func isSide(_ word: String) -> Bool {
    if ["ours", "theirs", "base"].contains(word) { return true }
    return word.hasPrefix("theirs.") && Int(word.dropFirst(7)).map { $0 > 1 } ?? false
  }
}
