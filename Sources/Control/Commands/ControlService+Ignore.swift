import Events
package import Grammar
import Inodes
import LLVSCore
import TreeNames
import WorkingTree

extension ControlService {
  /// Returns the text of the store's own ignore patterns.
  package func ignoreText() throws(ControlError) -> [UInt8] {
    try translating { () throws(StoreError) in
      try store.state().settings[IgnorePatterns.settingName] ?? IgnorePatterns.defaultText
    }
  }

  /// Replaces the store's own ignore patterns.
  package func setIgnoreText(_ text: [UInt8]) throws(ControlError) {
    guard text.count <= IgnorePatterns.maximumLength else {
      throw ControlError(.tooLong, "patterns of more than \(IgnorePatterns.maximumLength) bytes")
    }
    try translating { () throws(StoreError) in
      try store.write { (transaction) throws(StoreError) in
        transaction.set(IgnorePatterns.settingName, to: text)
      }
    }
    tree.files.setIgnore(IgnorePatterns(text))
  }

  /// Adds patterns to the store's own; without any, lists these.
  func ignore(_ patterns: [[UInt8]]) throws(ControlError) -> CommandResult {
    let text = try ignoreText()
    guard !patterns.isEmpty else {
      let shown = String(decoding: text, as: UTF8.self)
      return CommandResult(
        shown.hasSuffix("\n") ? String(shown.dropLast()) : shown,
        [
          ReplyField(
            "patterns",
            .list(shown.split(separator: "\n").filter { $0.first != "#" }.map { .text(String($0)) })
          )
        ])
    }
    try addPatterns(patterns, to: text)
    let words = patterns.map { PrintableText.text($0) }.joined(separator: ", ")
    return CommandResult(
      "new names that match are in no version from now on: \(words)",
      [ReplyField("patterns", patterns)])
  }

  private func addPatterns(_ patterns: [[UInt8]], to text: [UInt8]) throws(ControlError) {
    for pattern in patterns {
      guard IgnorePatterns(pattern).faults.isEmpty else {
        throw ControlError(
          .grammar, "\(PrintableText.text(pattern)) is not a pattern of gitignore(5)")
      }
    }
    let known = Set(text.split(separator: 0x0A).map(Array.init))
    let added = patterns.filter { !known.contains($0) }
    let start = text.isEmpty || text.last == 0x0A ? text : text + [0x0A]
    try setIgnoreText(start + added.flatMap { $0 + [0x0A] })
  }

  /// Tells which pattern keeps paths out of versions, and which are in one all the same.
  func checkIgnored(_ paths: [[UInt8]]) throws(ControlError) -> CommandResult {
    let head = try headRecord()
    var lines: [String] = []
    var fields: [ReplyValue] = []
    for path in paths {
      let found = try translating { () throws(StoreError) in
        try head.map { (record) throws(StoreError) in
          try TreeView(map: store.map(of: record)).find(path: path)
        } ?? nil
      }
      let isDirectory = try isDirectory(path)
      let reason = try inTree { () throws(FSError) in
        try tree.files.reasonToIgnore(TreePath(path), isDirectory: isDirectory)
      }
      let file = reason.map { Self.file(of: $0) }
      let state = found == nil ? reason == nil ? "new" : "ignored" : "versioned"
      let pattern = reason.flatMap { reason in "\(file ?? ""), line \(reason.line)" }
      let shown = PrintableText.text(path)
      switch (state, pattern) {
      case ("ignored", let pattern?): lines.append("\(shown): in no version, by \(pattern)")
      case ("versioned", let pattern?):
        lines.append(
          "\(shown): in versions, since it was before \(pattern) matched; "
            + "\"untrack \(shown)\" takes it out")
      case ("versioned", nil): lines.append("\(shown): in versions; no pattern matches")
      default: lines.append("\(shown): no pattern matches")
      }
      fields.append(
        .record(
          ReplyField.path("path", path) + [
            ReplyField("state", state), ReplyField("file", file.map { .text($0) } ?? .null),
            ReplyField("line", reason.map { .number(Int64($0.line)) } ?? .null),
          ]))
    }
    return CommandResult(lines.joined(separator: "\n"), [ReplyField("paths", .list(fields))])
  }

  /// The path of the file with a pattern.
  private static func file(of reason: IgnoreScope.Reason) -> String {
    guard let directory = reason.directory else { return ".llvs/ignore" }
    let name = String(decoding: IgnoreScope.fileName, as: UTF8.self)
    return directory.isEmpty ? name : "\(PrintableText.text(directory))/\(name)"
  }

  /// True if a directory is at a path of the tree.
  private func isDirectory(_ path: [UInt8]) throws(ControlError) -> Bool {
    try inTree { () throws(FSError) in
      var number = InodeNumber.root
      var isDirectory = true
      for name in path.split(separator: 0x2F) {
        do throws(FSError) {
          let status = try tree.files.lookup(number, FileName(name))
          tree.files.forget(status.number, count: 1)
          (number, isDirectory) = (status.number, status.kind == .directory)
        } catch .noEntry {
          return false
        } catch .notDirectory {
          return false
        }
      }
      return isDirectory
    }
  }

  /// Runs a function of the tree, and throws its error as a command's.
  func inTree<R>(_ body: () throws(FSError) -> R) throws(ControlError) -> R {
    do throws(FSError) { return try body() } catch { throw ControlError(StoreError(error)) }
  }

  // MARK: - Taking out of versions

  /// Makes a version without some paths, and keeps what is there in the working tree, where a pattern
  /// keeps it out of later versions.
  ///
  /// - Throws: `notFound` for a path that is in no version now, `busy` for one that is not saved.
  func untrack(
    _ paths: [[UInt8]], _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    let cut = try cut()
    if let unsaved = cut.allUnsaved.first(where: { path in
      paths.contains { PathFilter.isAtOrBelow(path, $0) }
    }) {
      throw ControlError(.busy, "not saved yet: \(PrintableText.text(unsaved))")
    }
    guard let head = try headRecord() else {
      throw ControlError(.notFound, "there is no version yet")
    }
    let view = TreeView(map: store.map(of: head))
    var items: [KeptItem] = []
    var patterns: [[UInt8]] = []
    for path in paths {
      let found = try translating { () throws(StoreError) in try view.find(path: path) }
      let shown = PrintableText.text(path)
      switch found {
      case nil: throw ControlError(.notFound, "\(shown) is in no version")
      case .value(let entry)?: items.append(KeptItem(path: path, entry: entry))
      case .directory(let entry)?:
        items += try translating { () throws(StoreError) in
          try KeptItem.all(below: path, entry, in: view)
        }
      }
      var isDirectory = false
      if case .directory? = found { isDirectory = true }
      let reason = try inTree { () throws(FSError) in
        try tree.files.reasonToIgnore(TreePath(path), isDirectory: isDirectory)
      }
      if reason == nil {
        guard !path.contains(0x0A) else {
          throw ControlError(.grammar, "no pattern can name \(shown): it has a line end")
        }
        patterns.append(Self.pattern(for: path, isDirectory: isDirectory))
      }
    }
    if !patterns.isEmpty { try addPatterns(patterns, to: try ignoreText()) }
    let name = paths.map { PrintableText.text($0) }.joined(separator: " ")
    let outcome = try remove(items, at: head.number, name, context)
    do throws(ControlError) {
      try inTree { () throws(FSError) in try keep(items) }
    } catch {
      throw ControlError(
        error.kind,
        "\(outcome.head?.name ?? "-") is without \(name), but it could not be kept here: "
          + "\(error.message); \"restore \(head.name) \(name)\" brings it back")
    }
    let files = items.count { !$0.isDirectory }
    log.add("untrack", "\(outcome.head?.name ?? "-") \(name)")
    return CommandResult(
      "\(outcome.head?.name ?? "-") is without \(name); "
        + "\(files) file\(files == 1 ? "" : "s") stay\(files == 1 ? "s" : "") here alone",
      [
        ReplyField("version", outcome.head.map { .text($0.name) } ?? .null),
        ReplyField("untracked", paths), ReplyField("files", files),
        ReplyField("patterns", patterns),
      ])
  }

  /// The pattern that matches one path alone.
  private static func pattern(for path: [UInt8], isDirectory: Bool) -> [UInt8] {
    let special = Array("\\*?[".utf8)
    var text: [UInt8] = []
    for byte in path { text += special.contains(byte) ? [0x5C, byte] : [byte] }
    // Spaces at the end of a line count only behind a backslash.
    if text.last == 0x20 { text.insert(0x5C, at: text.count - 1) }
    return [0x2F] + text + (isDirectory ? [0x2F] : [])
  }

  private func remove(
    _ items: [KeptItem], at seen: VersionNumber, _ names: String, _ context: CommandContext
  ) throws(ControlError) -> CutOutcome {
    try move(.untracked(names), context) { (transaction, head) throws(StoreError) in
      guard head == seen, let record = try transaction.version(seen) else {
        throw .busy("another version was made in the meantime; try again")
      }
      let base = ValueMap(
        root: record.map, storage: transaction.nodes, cache: self.store.nodeCache)
      let edits = items.compactMap { $0.entry }.map {
        MapEdit.remove($0.key, directory: $0.isDirectory)
      }.sorted(by: MapEdit.precedes)
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: seen, base: base,
          map: try base.applying(edits: edits), line: Self.branch(record.line),
          author: self.author, message: HeadReason.untracked(names).text)
      ).number
    }
  }
}
