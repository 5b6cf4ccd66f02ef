import FileTree
import LLVS
import Platform

extension Verb {
  private static func count(_ line: CommandLine, _ standard: Int) throws -> Int {
    guard let text = line.options["n"] else { return standard }
    guard let count = Int(text), count >= 0 else { throw UsageError("\(text) is no count") }
    return count
  }

  @Sendable static func log(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(0...0)
    let count = try count(line, 20)
    let log = EventLog(directory: try Site(line).storePath)
    var text = log.text()
    let lines = text.split(separator: 0x0A).suffix(count)
    show(lines, line, console)
    guard line.has("follow") else { return .done }
    while true {
      SystemClock.sleep(nanoseconds: 200_000_000)
      let now = log.text()
      // The older half goes when the log is full: then all of it is looked at anew.
      let fresh = now.starts(with: text) ? now.dropFirst(text.count) : now[...]
      if now.count != text.count { show(fresh.split(separator: 0x0A)[...], line, console) }
      text = now
    }
  }

  private static func show(
    _ lines: ArraySlice<ArraySlice<UInt8>>, _ line: CommandLine, _ console: Console
  ) {
    for bytes in lines {
      let text = String(decoding: bytes, as: UTF8.self)
      guard line.isJSON else {
        console.tell(text)
        continue
      }
      let words = text.split(separator: " ", maxSplits: 2).map(String.init)
      console.tell(
        ReplyValue.record([
          ReplyField("time", words.first ?? ""),
          ReplyField("kind", words.count > 1 ? words[1] : ""),
          ReplyField("text", words.count > 2 ? words[2] : ""),
        ]).json)
    }
  }

  // MARK: - Versions

  /// The version that a word stands for in a store that is open for reading.
  static func version(_ word: String, in store: Store) throws -> VersionRecord {
    if word == "head" {
      guard let number = try store.state().head, let record = try store.version(number) else {
        throw ControlError(.notFound, "there is no version yet")
      }
      return record
    }
    if word.hasPrefix("at/") {
      let now = SystemClock.realtime()
      let time = TimeExpression(now: now.seconds * 1_000_000_000 + Int64(now.nanoseconds))
      guard let instant = time.instant(String(word.dropFirst(3))) else {
        throw UsageError("\(word) is no time")
      }
      guard let number = try store.head(at: instant)?.version,
        let record = try store.version(number)
      else { throw ControlError(.notFound, "there was no version \(word)") }
      return record
    }
    let branch = word == VersionRecord.unnamedLine ? nil : Branch(rawValue: word)
    if let newest = try store.graph.uncontainedHeads(ofLine: branch).max(by: HistoryNode.isOlder),
      let record = try store.version(newest.number)
    {
      return record
    }
    return try store.resolve(word)
  }

  @Sendable static func show(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let word = try line.operands(0...1).first ?? "head"
    let store = try Site(line).reader()
    let record = try version(word, in: store)
    let metadata = try store.metadata(of: record)
    let author: String? = metadata[.author]?.value()
    let message: String? = metadata[.message]?.value()
    let parents = try record.predecessors.compactMap { try store.version($0) }
    let differences = Differences(
      store, from: parents.first?.map ?? .empty, to: record.map)
    var changes: [Difference] = []
    try differences.forEach { changes.append($0) }
    if line.isJSON {
      console.tell(
        ReplyValue.record([
          ReplyField("name", record.name), ReplyField("id", record.id.rawValue),
          ReplyField("line", record.line),
          ReplyField("secondsSince1970", .text("\(record.timestamp + 978_307_200)")),
          ReplyField("author", author.map { .text($0) } ?? .null),
          ReplyField("message", message.map { .text($0) } ?? .null),
          ReplyField("predecessors", .list(parents.map { .text($0.name) })),
          ReplyField("entries", .number(Int64(clamping: record.map.count))),
          ReplyField("digest", record.map.digest.hex),
          ReplyField("changes", .list(changes.map(\.value))),
        ]).json)
      return .done
    }
    console.tell("version   \(record.name)")
    console.tell("id        \(record.id.rawValue)")
    if record.line != VersionRecord.unnamedLine { console.tell("line      \(record.line)") }
    if let author { console.tell("author    \(author)") }
    if let message { console.tell("message   \(message)") }
    for parent in parents { console.tell("after     \(parent.name)") }
    console.tell("holds     \(record.map.count) entries")
    for change in changes { console.tell(change.text) }
    return .done
  }

  @Sendable static func diff(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.operands(1...2)
    let store = try Site(line).reader()
    let old = try version(words[0], in: store)
    let new = try version(words.count > 1 ? words[1] : "head", in: store)
    var counts = (new: 0, gone: 0, changed: 0)
    var bytes: Int64 = 0
    try Differences(store, from: old.map, to: new.map).forEach { change in
      switch change.mark {
      case "+": counts.new += 1
      case "-": counts.gone += 1
      default: counts.changed += 1
      }
      bytes += Int64(clamping: change.newLength) - Int64(clamping: change.oldLength)
      if line.isJSON {
        console.tell(change.value.json)
      } else if line.has("stat") {
        console.tell("\(change.text)  \(change.oldLength) -> \(change.newLength) bytes")
      } else {
        console.tell(change.text)
      }
    }
    if line.has("stat"), !line.isJSON {
      let sign = bytes < 0 ? "" : "+"
      console.tell(
        "\(counts.new) new, \(counts.gone) gone, \(counts.changed) changed, \(sign)\(bytes) bytes")
    }
    return .done
  }

  @Sendable static func backup(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let target = try line.operands(1...1)[0]
    let store = try Site(line).reader()
    try store.backup(to: target) { done, total in
      console.progress(
        CommandProgress("copying MiB", done: Int(done >> 20), total: Int(total >> 20)))
      return true
    }
    console.say("\(store.path) is copied to \(target)")
    return .done
  }
}

/// A path at which two versions differ.
struct Difference {
  /// `+` new, `-` gone, `*` changed.
  var mark: String
  var path: [UInt8]
  var isDirectory: Bool
  var oldLength: UInt64
  var newLength: UInt64

  var text: String {
    "\(mark) \(String(decoding: path, as: UTF8.self))" + (isDirectory ? "/" : "")
  }

  var value: ReplyValue {
    .record([
      ReplyField("change", mark), ReplyField("path", String(decoding: path, as: UTF8.self)),
      ReplyField("directory", .flag(isDirectory)),
      ReplyField("oldBytes", .number(Int64(clamping: oldLength))),
      ReplyField("newBytes", .number(Int64(clamping: newLength))),
    ])
  }
}

/// The paths at which two maps differ, streaming.
struct Differences {
  private let old: ValueMap
  private let new: ValueMap

  init(_ store: Store, from old: MapRoot, to new: MapRoot) {
    self.old = store.map(old)
    self.new = store.map(new)
  }

  func forEach(_ body: (Difference) -> Void) throws {
    let (before, after) = (TreeView(map: old), TreeView(map: new))
    var diff = try MapDiff(from: old, to: new, comparing: .content)
    while let change = try diff.next() {
      body(
        Difference(
          mark: change.old == nil ? "+" : change.new == nil ? "-" : "*",
          path: try (change.new == nil ? before : after).path(of: change.key),
          isDirectory: change.isDirectory, oldLength: change.old?.stored.length ?? 0,
          newLength: change.new?.stored.length ?? 0))
    }
  }
}
