import Events
import Grammar
import HistoryTree
import LLVSCore
import TreeNames

/// Gives versions lasting names, and lists, removes and changes these.
struct TagCommand: Command {
  static let forms = [
    CommandForm(
      "tag", "[NAME [VERSION] [--force] | --delete NAME | --rename NAME NEW]", .versions,
      options: [
        VerbOption("f", help: "move the name, as --force does here too"),
        VerbOption("d", "delete", help: "remove the name"),
        VerbOption("m", "rename", help: "give the version another name instead"),
      ],
      help: """
        Gives a version a lasting name, or lists these names.
        A name that another version has is refused; -f takes it from there, and says from which.
        """)
  ]

  enum Request: Hashable {
    case list
    /// Names a version, by default the head; `moves` takes the name from another version.
    case add(String, version: String? = nil, moves: Bool = false)
    case remove(String)
    case rename(String, to: String)
  }

  var request = Request.list

  var title: String {
    switch request {
    case .list: "tag"
    case .add(let name, _, _): "tag \(name)"
    case .remove(let name): "tag --delete \(name)"
    case .rename(let old, let new): "tag --rename \(old) \(new)"
    }
  }

  var effect: CommandEffect { request == .list ? .query : .change }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    switch request {
    case .list: try service.tags()
    case .add(let name, let version, let moves): try service.tag(name, version, moves: moves)
    case .remove(let name): try service.removeTag(name)
    case .rename(let old, let new): try service.renameTag(old, to: new)
    }
  }
}

extension TagCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    switch try arguments.change() {
    // A tag contains no versions: nothing is lost with it.
    case .delete(let name, _): request = .remove(name)
    case .rename(let old, let new): request = .rename(old, to: try StoreName.checked(tag: new))
    case nil:
      var words: [String] = []
      var moves = false
      while let word = try arguments.textIfAny() {
        // These options are spelled as in git; no tag or version can have such a name.
        if word == "-f" || word == "--force" {
          moves = true
        } else {
          guard words.count < 2 else { throw arguments.misused("\"\(word)\" is one word too many") }
          words.append(word)
        }
      }
      guard let name = words.first else {
        guard !moves else { throw arguments.misused("a name is missing") }
        return
      }
      request = .add(
        try StoreName.checked(tag: name), version: words.count > 1 ? words[1] : nil, moves: moves)
    }
  }
}

extension ControlService {
  /// Gives a version, by default the head, a lasting name, which is exchanged like a version.
  /// - Throws: ``ControlError/Kind/exists`` if another version has the name and it is not `moves`.
  fileprivate func tag(_ name: String, _ word: String?, moves: Bool) throws -> CommandResult {
    if try store.hasOpenHead(name) { throw ControlError(.exists, "there is a branch \(name)") }
    if name == "head" { throw ControlError(.exists, "\(name) is a version's name") }
    try refuseVersion(name)
    let before = try store.version(tagged: name)
    func keepName(from other: VersionNumber?) throws(ControlError) {
      guard !moves, let before, before.number != other else { return }
      let words = word.map { "\(name) \($0)" } ?? name
      throw ControlError(
        .exists, "tag \(name) exists (\(before.name)); to move it: llvs tag --force \(words)")
    }
    let found: VersionRecord
    if let word {
      found = try version(word)
    } else {
      // Checked first, so that no version is made for an invalid name.
      try keepName(from: try store.state().head)
      try cut()
      found = try version("head")
    }
    try keepName(from: found.number)
    var fields: ReplyValue = ["tag": name, "version": found.name]
    if before?.number == found.number {
      return CommandResult("\(name) is \(found.name)", fields + ["movedFrom": ReplyValue.null])
    }
    let isFirst = try store.write { (transaction) throws(StoreError) in
      // Another command may have used the name in the meantime.
      guard try store.version(tagged: name)?.number == before?.number else { return false }
      _ = try transaction.tag(found, as: name, author: author)
      return true
    }
    guard isFirst else { return try tag(name, word, moves: moves) }
    var text = "\(name) is \(found.name)"
    if let before { text += ", moved from \(before.name)" }
    if try store.isForgotten(found.number) {
      text += ", whose bytes \(try store.reasonForMissingBytes(of: found))"
    }
    fields += ["movedFrom": before?.name]
    log.add("tag", text)
    return CommandResult(text, fields)
  }

  /// Removes a tag, here and with the next exchange everywhere; the version stays.
  fileprivate func removeTag(_ name: String) throws -> CommandResult {
    let before = try tagged(name)
    _ = try store.write { (transaction) throws(StoreError) in
      try transaction.removeTag(name, author: author)
    }
    log.add("tag", "\(name) removed, which was \(before.name)")
    return CommandResult(
      "the tag \(name) is removed; it was \(before.name)",
      ["removed": name, "version": before.name])
  }

  fileprivate func renameTag(_ old: String, to new: String) throws -> CommandResult {
    let before = try tagged(old)
    try refuseTaken(new)
    if new == "head" { throw ControlError(.exists, "\(new) is a version's name") }
    try store.write { (transaction) throws(StoreError) in
      _ = try transaction.tag(before, as: new, author: author)
      _ = try transaction.removeTag(old, author: author)
    }
    log.add("tag", "\(new) is \(before.name), renamed from \(old)")
    return CommandResult(
      "\(new) is \(before.name), renamed from \(old)",
      ["tag": new, "version": before.name, "renamedFrom": old])
  }

  private func tagged(_ name: String) throws -> VersionRecord {
    guard let found = try store.version(tagged: name) else {
      throw ControlError(.notFound, "there is no tag \(name)")
    }
    return found
  }

  func refuseVersion(_ name: String) throws {
    if try store.version(exactly: name) != nil {
      throw ControlError(.exists, "\(name) is a version's name")
    }
  }

  fileprivate func tags() throws -> CommandResult {
    var found: [(tag: String, version: String)] = []
    var last: String?
    repeat {
      let names = try store.tags(after: last, limit: 256)
      for name in names {
        if let version = try store.version(tagged: name) { found.append((name, version.name)) }
      }
      last = names.last
    } while last != nil
    let lines = found.map { "\(PrintableText.text(Array($0.tag.utf8)))  \($0.version)" }
    return CommandResult(
      lines.isEmpty ? "no tags" : lines.joined(separator: "\n"),
      ["tags": ReplyValue.list(found.map { ["tag": $0.tag, "version": $0.version] })])
  }
}
