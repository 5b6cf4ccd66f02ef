import LLVS

extension ControlService {
  /// Gives a version a lasting name, which is exchanged like any version; the head's, where none is named.
  func tag(_ name: String, _ word: String?) throws(ControlError) -> CommandResult {
    let isBranch = try translating { () throws(StoreError) in
      try !store.headNumbers(ofLine: name).isEmpty
    }
    if isBranch { throw ControlError(.exists, "there is a branch \(name)") }
    if name == "head" { throw ControlError(.exists, "\(name) is a version's name") }
    try refuseVersion(name)
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

  /// Refuses a name that is a version's, or its id.
  func refuseVersion(_ name: String) throws(ControlError) {
    let isVersion = try translating { () throws(StoreError) in
      try store.version(exactly: name) != nil
    }
    if isVersion { throw ControlError(.exists, "\(name) is a version's name") }
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
          let shown = ChangeText.text(Array(name.utf8))
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
