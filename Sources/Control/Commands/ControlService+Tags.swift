import Events
import Grammar
import HistoryTree
import LLVSCore
import TreeNames
import WorkingTree

extension ControlService {
  /// Gives a version a lasting name, which is exchanged like a version; the head is tagged if no
  /// version is named.
  ///
  /// - Throws: ``ControlError/Kind/exists`` if another version has the name and it is not `moves`.
  func tag(
    _ name: String, _ word: String?, moves: Bool
  ) throws(ControlError) -> CommandResult {
    let isBranch = try translating { () throws(StoreError) in
      try store.hasOpenHead(name)
    }
    if isBranch { throw ControlError(.exists, "there is a branch \(name)") }
    if name == "head" { throw ControlError(.exists, "\(name) is a version's name") }
    try refuseVersion(name)
    let before = try translating { () throws(StoreError) in try store.version(tagged: name) }
    /// Refuses to take the name from another version, unless `moves`.
    func keepName(from other: VersionNumber?) throws(ControlError) {
      guard !moves, let before, before.number != other else { return }
      let words = word.map { "\(name) \($0)" } ?? name
      throw ControlError(
        .exists, "\(name) is \(before.name); \"tag --force \(words)\" moves it")
    }
    let found: VersionRecord
    if let word {
      found = try version(word)
    } else {
      // Checked first, so that no version is made for a name that it cannot have.
      try keepName(from: try translating { () throws(StoreError) in try store.state().head })
      try cut()
      found = try version("head")
    }
    try keepName(from: found.number)
    var fields = [ReplyField("tag", name), ReplyField("version", found.name)]
    if before?.number == found.number {
      return CommandResult("\(name) is \(found.name)", fields + [ReplyField("movedFrom", .null)])
    }
    let isFirst = try translating { () throws(StoreError) in
      try store.write { (transaction) throws(StoreError) in
        // Another command may have used the name in the meantime.
        guard try store.version(tagged: name)?.number == before?.number else { return false }
        _ = try transaction.tag(found, as: name, author: author)
        return true
      }
    }
    guard isFirst else { return try tag(name, word, moves: moves) }
    var text = "\(name) is \(found.name)"
    if let before { text += ", moved from \(before.name)" }
    fields.append(ReplyField("movedFrom", before.map { .text($0.name) } ?? .null))
    log.add("tag", text)
    return CommandResult(text, fields)
  }

  /// Removes a tag, here and with the next exchange everywhere; the version stays.
  func removeTag(_ name: String) throws(ControlError) -> CommandResult {
    let before = try tagged(name)
    try translating { () throws(StoreError) in
      _ = try store.write { (transaction) throws(StoreError) in
        try transaction.removeTag(name, author: author)
      }
    }
    log.add("tag", "\(name) removed, which was \(before.name)")
    return CommandResult(
      "the tag \(name) is removed; it was \(before.name)",
      [ReplyField("removed", name), ReplyField("version", before.name)])
  }

  /// Gives a tag another name.
  func renameTag(_ old: String, to new: String) throws(ControlError) -> CommandResult {
    let before = try tagged(old)
    try refuseTaken(new)
    if new == "head" { throw ControlError(.exists, "\(new) is a version's name") }
    try translating { () throws(StoreError) in
      try store.write { (transaction) throws(StoreError) in
        _ = try transaction.tag(before, as: new, author: author)
        _ = try transaction.removeTag(old, author: author)
      }
    }
    log.add("tag", "\(new) is \(before.name), renamed from \(old)")
    return CommandResult(
      "\(new) is \(before.name), renamed from \(old)",
      [
        ReplyField("tag", new), ReplyField("version", before.name),
        ReplyField("renamedFrom", old),
      ])
  }

  /// Returns the version that a tag names.
  ///
  /// - Throws: `notFound` if there is no such tag.
  private func tagged(_ name: String) throws(ControlError) -> VersionRecord {
    let found = try translating { () throws(StoreError) in try store.version(tagged: name) }
    guard let found else { throw ControlError(.notFound, "there is no tag \(name)") }
    return found
  }

  /// Refuses a name that is the name or id of a version.
  func refuseVersion(_ name: String) throws(ControlError) {
    let isVersion = try translating { () throws(StoreError) in
      try store.version(exactly: name) != nil
    }
    if isVersion { throw ControlError(.exists, "\(name) is a version's name") }
  }

  /// Lists the tags, in order of name, with their versions.
  func tags() throws(ControlError) -> CommandResult {
    var lines: [String] = []
    var fields: [ReplyValue] = []
    try translating { () throws(StoreError) in
      var last: String?
      while true {
        let names = try store.tags(after: last, limit: 256)
        guard let end = names.last else { return }
        last = end
        for name in names {
          guard let version = try store.version(tagged: name) else { continue }
          let shown = PrintableText.text(Array(name.utf8))
          lines.append("\(shown)  \(version.name)")
          fields.append(
            .record([ReplyField("tag", name), ReplyField("version", version.name)]))
        }
      }
    }
    return CommandResult(
      lines.isEmpty ? "no tags" : lines.joined(separator: "\n"),
      [ReplyField("tags", .list(fields))])
  }
}
