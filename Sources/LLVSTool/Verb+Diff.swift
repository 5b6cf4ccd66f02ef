import Grammar
import HistoryTree
import LLVSCore
import Reports
import TreeNames

extension Verb {
  @Sendable static func diff(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let site = try CommandTarget(line)
    let store = try site.reader()
    // The tree of an unmounted store is opened only if it is compared.
    var opened: LivePlace??
    func live() -> LivePlace? {
      if opened == nil { opened = .some(livePlace(site, console)) }
      return opened ?? nil
    }
    let operands = try Operands(line, site, store, versions: 2, live: live)
    for word in line.words.prefix(line.wordsBeforeDashes ?? line.words.count) {
      let dots = word.firstRange(of: "..")
      try tellTime(dots.map { String(word[..<$0.lowerBound]) } ?? word, store, console)
      if let dots { try tellTime(String(word[dots.upperBound...]), store, console) }
    }
    let place = operands.versions.count < 2 ? live() : nil
    var writer = try DiffWriter(
      line, console, standard: .patch, isToApply: true, store: store)
    console.page(line)
    if let place {
      writer.sides.old = try operands.versions.first ?? store.headRecord()
      let live = try LiveDifferences(
        store, place, paths: operands.paths.isEmpty ? site.shownPaths : operands.paths)
      try live.forEach(from: operands.versions.first, findingRenames: !line.has("no-renames")) {
        try writer.write($0)
      }
    } else {
      let new =
        operands.versions.count > 1 ? operands.versions[1] : try store.version(meant: "head")
      let old = operands.versions.first ?? new
      writer.sides = (old, new)
      try VersionDifferences(
        store, from: old.map, to: new.map, paths: operands.paths,
        findingRenames: !line.has("no-renames")
      ).forEach { try writer.write($0) }
    }
    writer.finish()
    if writer.lacksBytes { return .forgotten }
    return line.has("exit-code") && writer.count > 0 ? .conflict : .done
  }

  /// Says which version a time means, if the version of that time is forgotten.
  private static func tellTime(_ word: String, _ store: Store, _ console: Console) throws {
    if let note = try store.noteOnTime(in: word) { console.complain("llvs: \(note).") }
  }

  /// Shows a version and its changes, or its contents at a path.
  @Sendable static func show(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let word = try line.operands(0...1).first ?? "head"
    let site = try CommandTarget(line)
    let store = try site.reader()
    try tellTime(word, store, console)
    if let (record, path) = try place(line.bytes.first ?? [], site, store) {
      return try showContent(of: record, at: path, store, line, console)
    }
    let record = try store.version(meant: word)
    var writer = try DiffWriter(line, console, standard: .stat, isToApply: true, store: store)
    let story = VersionStory(store: store, labels: try VersionLabels(store))
    let parent = try store.version(record.first)
    writer.sides = (parent, record)
    let differences = try VersionDifferences(
      store, from: parent?.map ?? .empty, to: record.map, findingRenames: !line.has("no-renames"))
    if line.isJSON {
      var changes: [ReplyValue] = []
      try differences.forEach { changes.append(try writer.record($0)) }
      console.tell(json: ["ok": true] + (try story.reply(of: record)) + ["changes": changes])
      writer.finish()
      return writer.lacksBytes ? .forgotten : .done
    }
    console.page(line)
    for text in try story.heading(of: record, try console.style(line)) {
      console.stream(line: text)
    }
    console.stream(line: "")
    try differences.forEach { try writer.write($0) }
    writer.finish()
    return writer.lacksBytes ? .forgotten : .done
  }

  /// Parses `VERSION:PATH` at the first colon with a version before it, and `at/TIME:PATH` at the last colon with a
  /// time before it; nil if the whole word is a version.
  static func place(
    _ word: [UInt8], _ site: CommandTarget, _ store: Store
  ) throws -> (record: VersionRecord, path: [UInt8])? {
    let colon = UInt8(ascii: ":")
    guard word.contains(colon) else { return nil }
    let isTime = word.starts(with: "at/".utf8)
    var failure: ControlError?
    do throws(ControlError) {
      _ = try store.version(meant: String(decoding: word, as: UTF8.self))
      return nil
    } catch {
      // The whole word is a time, before the first version.
      if isTime, error.kind == .notFound { throw error }
    }
    let marks = word.indices.filter { word[$0] == colon }
    for mark in isTime ? marks.reversed() : marks {
      let name = String(decoding: word[..<mark], as: UTF8.self)
      do throws(ControlError) {
        let record = try store.version(meant: name.isEmpty ? "head" : name)
        return (record, try site.pathInVersion(Array(word[(mark + 1)...])))
      } catch {
        if failure == nil || failure?.kind == .grammar { failure = error }
      }
    }
    if let failure { throw failure }
    return nil
  }

  /// - Throws: ``ControlError`` of kind forgotten, with the reason.
  static func refuse(_ path: [UInt8], of record: VersionRecord, _ store: Store) throws -> Never {
    var missing = MissingBytes(store)
    try missing.add(path, of: record)
    throw missing.error()
  }

  private static func showContent(
    of record: VersionRecord, at path: [UInt8], _ store: Store, _ line: CommandLine,
    _ console: Console
  ) throws -> ExitCode {
    let view = TreeView(map: store.map(of: record))
    let found = try view.find(path: path)
    if case .value(let entry)? = found, try !store.canRead(entry.stored) {
      try refuse(path, of: record, store)
    }
    switch found {
    case .value(let entry)? where line.isJSON:
      let bytes = try store.contents.bytes(entry.stored)
      console.tell(json: [
        "ok": true, "version": record.name, "path": ReplyBytes(path), "kind": "file",
        "bytes": entry.stored.length, "content": ReplyBytes(bytes),
      ])
    case .value(let entry)?:
      var offset: UInt64 = 0
      while offset < entry.stored.length {
        let part = try store.contents.bytes(entry.stored, from: offset, count: 1 << 20)
        console.stream(part)
        offset += UInt64(part.count)
      }
    case .directory?:
      var names: [[UInt8]] = []
      var listing = view.list(path)
      while let item = try listing.next() {
        names.append(item.name + (item.entry?.isDirectory ?? true ? [0x2F] : []))
      }
      names.sort { $0.lexicographicallyPrecedes($1) }
      guard !line.isJSON else {
        let shown = names.map { name -> ReplyValue in
          let isDirectory = name.last == 0x2F
          return [
            "name": ReplyBytes(isDirectory ? name.dropLast() : name), "directory": isDirectory,
          ]
        }
        console.tell(json: [
          "ok": true, "version": record.name, "path": ReplyBytes(path), "kind": "directory",
          "names": shown,
        ])
        return .done
      }
      for name in names { console.stream(PrintableText.visible(name) + [0x0A]) }
    case nil:
      throw ControlError(
        .notFound, "\(record.name) has no \(PrintableText.text(path))")
    }
    return .done
  }
}
