import LLVS

extension ControlService {
  /// Gives a version a lasting name, which is exchanged like any version; the head's, where none is named.
  func tag(_ name: String, _ word: String?) throws(ControlError) -> CommandResult {
    let isBranch = try translating { () throws(StoreError) in
      try !store.headNumbers(ofLine: name).isEmpty
    }
    if isBranch { throw ControlError(.exists, "there is a branch \(name)") }
    let isVersion = try translating { () throws(StoreError) in
      try store.version(named: name) != nil
    }
    if isVersion || name == "head" { throw ControlError(.exists, "\(name) is a version's name") }
    let found: VersionRecord
    if let word {
      found = try version(word)
    } else {
      try cut()
      found = try version("head")
    }
    _ = try translating { () throws(StoreError) in
      try store.write { (transaction) throws(StoreError) in
        try transaction.tag(found, as: name, author: author)
      }
    }
    log.add("tag", "\(name) is \(found.name)")
    return CommandResult(
      "\(name) is \(found.name)", [ReplyField("tag", name), ReplyField("version", found.name)])
  }

  /// Lists the tags, in order of their names, with the versions they name.
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
          // A peer's may hold anything: a line stays a line.
          let shown = String(decoding: ChangeText.visible(Array(name.utf8)), as: UTF8.self)
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
