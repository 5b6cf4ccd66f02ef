import Control
import Events
import Grammar
import HistoryTree
import LLVSCore
import Platform
import Reports
import TreeNames

extension Verb {
  @Sendable static func log(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let site = try CommandTarget(line)
    let store = try site.reader()
    let operands = try Operands(line, site, store, versions: 2)
    guard operands.versions.count < 2 || operands.isRange else {
      throw UsageError("a log begins at one version; A..B is what B has and A has not")
    }
    var limits = LogQuery.Limits(paths: operands.paths)
    limits.since = try time(line, "since")
    limits.until = try time(line, "until")
    if operands.isRange { limits.notBefore = operands.versions[0].number }
    limits.author = try line.optionValues["author", default: []].map { try pattern($0, line) }
    limits.message = try line.optionValues["grep", default: []].map { try pattern($0, line) }
    limits.content = line.optionBytes["content"]
    if limits.content?.isEmpty == true { throw UsageError("-S needs a text") }
    limits.followsRenames = line.has("follow")
    limits.includesForgotten = line.has("all")
    guard !limits.followsRenames || limits.paths.count == 1 else {
      throw UsageError("--follow takes one file; new versions are shown by --watch")
    }
    let starts = try starts(line, operands, store)
    var writer = try LogWriter(line, console, store)
    if line.has("watch") {
      guard !line.has("graph") else { throw UsageError("--watch and --graph do not go together") }
      try watch(&writer, LogQuery(store, from: starts, limits: limits, order: .newestFirst), line)
    }
    // A search may take long before there is anything to page.
    if limits.content == nil { console.page(line) }
    var query = try LogQuery(
      store, from: starts, limits: limits, order: line.has("graph") ? .connected : .newestFirst)
    let last = Int(try store.state().lastNumber)
    var (left, done) = (try line.number("count") ?? .max, 0)
    var hasShown = limits.content == nil
    while left > 0, let step = try query.next() {
      done += 1
      switch step {
      case .passed(let number, let next):
        if !hasShown {
          console.progress(CommandProgress("searching versions", done: done, total: last))
        }
        writer.pass(number, to: next)
      case .shown(let record, let predecessors):
        if !hasShown {
          console.clear()
          console.page(line)
          hasShown = true
        }
        try writer.write(record, predecessors: predecessors)
        left -= 1
      }
    }
    console.clear()
    guard query.passedOver > 0 || writer.lacksBytes else { return .done }
    if query.passedOver > 0 {
      console.flush()
      console.complain(
        "llvs: \(PrintableText.count(query.passedOver, "version")) not searched for the text, because bytes are forgotten."
      )
    }
    return .forgotten
  }

  /// Returns the time in an option, in seconds since 2001.
  private static func time(_ line: CommandLine, _ option: String) throws -> Double? {
    guard let text = line.options[option] else { return nil }
    let expression = TimeExpression(now: TimestampText.now())
    guard let span = expression.span(text) else { throw UsageError(TimeExpression.refusal(text)) }
    let meant = option == "since" ? span.lowerBound : span.upperBound
    return Double(meant / 1_000_000_000) + Double(meant % 1_000_000_000) / 1e9 - 978_307_200
  }

  private static func starts(
    _ line: CommandLine, _ operands: Operands, _ store: Store
  ) throws -> [VersionNumber] {
    let head = try store.state().head.map { [$0] } ?? []
    guard line.has("all") else { return operands.versions.last.map { [$0.number] } ?? head }
    guard operands.versions.isEmpty else { throw UsageError("--all goes with no version") }
    return try store.lineNames().branches.flatMap { try store.headNumbers(ofLine: $0) } + head
  }

  /// Shows the last versions, oldest first, and then new ones as they come, until the process is ended.
  private static func watch(
    _ writer: inout LogWriter, _ query: LogQuery, _ line: CommandLine
  ) throws -> Never {
    var query = query
    let store = writer.story.store
    var last = try store.state().lastNumber
    var recent: [VersionRecord] = []
    let count = try line.number("count") ?? 10
    while recent.count < count, let step = try query.next() {
      if case .shown(let record, _) = step { recent.append(record) }
    }
    for record in recent.reversed() { try writer.write(record, predecessors: []) }
    while true {
      writer.console.flush()
      SystemClock.sleep(nanoseconds: 200_000_000)
      let newest = try store.state().lastNumber
      guard newest > last else { continue }
      writer.story.labels = try VersionLabels(store)
      for number in (last + 1)...newest {
        guard let record = try store.version(VersionNumber(number)),
          !record.line.hasPrefix("llvs."), try query.isMeant(record)
        else { continue }
        try writer.write(record, predecessors: [])
      }
      last = newest
    }
  }

  @Sendable static func events(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(0...0)
    let isWatching = line.verb == "watch"
    let count = try line.number("count") ?? (isWatching ? 0 : 20)
    let log = EventLog(directory: try CommandTarget(line).storePath)
    var reader = log.reader()
    var lines = EventLines()
    var last: [[UInt8]] = []
    while case let part = reader.next(), !part.isEmpty {
      for text in lines.take(part) {
        last.append(text)
        if last.count > 2 * count + 64 { last.removeFirst(last.count - count) }
      }
    }
    for text in last.suffix(count) { show(text, line, console) }
    guard isWatching || line.has("follow") else { return .done }
    while true {
      console.flush()
      SystemClock.sleep(nanoseconds: 200_000_000)
      while case let part = reader.next(), !part.isEmpty {
        for text in lines.take(part) { show(text, line, console) }
      }
    }
  }

  private static func show(_ bytes: [UInt8], _ line: CommandLine, _ console: Console) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard line.isJSON else {
      // The log has times in UTC; people read them as the log of versions shows them.
      let time = text.prefix { $0 != " " }
      let shown = TimestampText.seconds(iso: String(time)).map { TimestampText.local(seconds: $0) }
      console.stream(line: (shown ?? String(time)) + text.dropFirst(time.count))
      return
    }
    let words = text.split(separator: " ", maxSplits: 2).map(String.init)
    console.stream(json: [
      "time": words.first ?? "", "kind": words.count > 1 ? words[1] : "",
      "text": words.count > 2 ? words[2] : "",
    ])
  }

  private struct Revision {
    var record: VersionRecord
    var entry: Entry?
    /// What the file was in the predecessor, under its own or another name.
    var former: Entry?
  }

  /// Returns the revisions of a file, oldest first, from before its renames too.
  private static func revisions(
    of key: Key, in store: Store, all: Bool
  ) throws -> [Revision] {
    var found: [Revision] = []
    var known: Set<Key> = []
    var wanted: (key: Key, ancestors: Ancestors?)? = (key, nil)
    while case (let key, var ancestors)? = wanted, known.insert(key).inserted {
      var part: [Revision] = []
      for record in try all ? store.versions(changing: key) : store.keptVersions(changing: key)
      where try ancestors?.contains(record.number) ?? true {
        let map = store.map(of: record)
        let entry = try map.entry(at: key)
        let parent = try store.version(record.first).map { store.map(of: $0) }
        let former = try parent.flatMap { parent in
          try entry.map { try VersionDifferences.former($0, in: parent, of: map) }
            ?? parent.entry(at: key)
        }
        part.append(Revision(record: record, entry: entry, former: former))
      }
      part = try part.map { (try store.graph.node($0.record.number), $0) }
        .sorted { HistoryNode.isOlder($0.0, $1.0) }.map(\.1)
      found = part + found
      wanted = part.first.flatMap { first in
        first.former.flatMap { former in
          first.record.first.map { (former.key, Ancestors(of: $0, in: store.graph)) }
        }
      }
    }
    var seen: Set<UInt64> = []
    // A merge that took a revision from its other side did not make it.
    return found.filter { $0.entry.map { seen.insert($0.revision).inserted } ?? true }
  }

  @Sendable static func history(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(1...1)
    let site = try CommandTarget(line)
    let store = try site.reader()
    let path = try site.path(line.bytes[0])
    let head = try store.headRecord()
    let view = TreeView(map: store.map(of: head))
    let key = try view.key(forNewPath: path)
    let revisions = try revisions(of: key, in: store, all: line.has("all"))
    guard !revisions.isEmpty else {
      throw ControlError(.notFound, "no version has a file \(PrintableText.text(line.bytes[0]))")
    }
    let story = VersionStory(store: store, labels: try VersionLabels(store))
    let style = try console.style(line)
    var missing = MissingBytes(store)
    func write(
      _ revision: Revision, _ style: TextStyle, emit: @escaping ([UInt8]) -> Void
    ) throws {
      let unified = UnifiedDiff(
        style: style, context: 3, writesBytes: line.has("binary"), emit: emit)
      let difference = TreeDifference(
        path: path, old: revision.former.map { FileImage($0, in: store) },
        new: revision.entry.map { FileImage($0, in: store) })
      do {
        try unified.write(difference)
      } catch let error as StoreError where error.isForgotten {
        let parent = try store.version(revision.record.first)
        let lacksOld = try difference.old?.lacksBytes() ?? false
        try missing.add(path, of: lacksOld ? parent ?? revision.record : revision.record)
        unified.write(withoutBytes: difference)
      }
    }
    console.page(line)
    for revision in revisions.reversed().prefix(try line.number("count") ?? .max) {
      let (record, entry, before) = (revision.record, revision.entry, revision.former)
      let words = try story.words(of: record)
      if line.isJSON {
        let reply: ReplyValue = [
          "version": record.name, "change": entry == nil ? "-" : before == nil ? "+" : "*",
          "bytes": entry?.stored.length,
          "isForgotten": story.labels.reply(record.number)["isForgotten"],
          "time": VersionStory.time(record), "author": words.author,
          "machine": words.machine, "message": words.message,
        ]
        var patch: [UInt8] = []
        if line.has("patch") { try write(revision, TextStyle(isOn: false)) { patch += $0 } }
        console.stream(json: reply + (line.has("patch") ? ["patch": ReplyBytes(patch)] : [:]))
        continue
      }
      var parts = [
        style.paint(record.name, .yellow) + story.labels.text(record.number, style),
        TimestampText.local(seconds: VersionStory.seconds(record)),
      ]
      parts += [words.author ?? words.machine].compactMap(\.self).map(VersionStory.clean)
      parts.append(entry.map { "\($0.stored.length) bytes" } ?? "removed")
      if let before, let entry, before.key != entry.key, let number = record.first,
        let parent = try store.version(number)
      {
        let path = try TreeView(map: store.map(of: parent)).path(of: before.key)
        parts.append("was \(PrintableText.text(path))")
      }
      parts += [words.message].compactMap(\.self).map(VersionStory.clean)
      console.stream(line: parts.joined(separator: "  "))
      if line.has("patch") { try write(revision, style) { console.stream($0) } }
    }
    console.complain(about: missing)
    return missing.count > 0 ? .forgotten : .done
  }
}

struct EventLines {
  private var rest: [UInt8] = []

  mutating func take(_ part: [UInt8]) -> [[UInt8]] {
    rest += part
    guard let end = rest.lastIndex(of: 0x0A) else { return [] }
    let lines = rest[..<end].split(separator: 0x0A, omittingEmptySubsequences: true)
    rest = Array(rest[(end + 1)...])
    return lines.map(Array.init)
  }
}
