import Grammar
import LLVSCore
import Reports

struct LogWriter {
  private let line: CommandLine
  let console: Console
  private let style: TextStyle
  private let changes: DiffWriter.Form?
  var story: VersionStory
  private var graph: LogGraph<VersionNumber>?
  private var isFirst = true
  /// True if changes were not shown, because bytes are forgotten.
  private(set) var lacksBytes = false

  init(_ line: CommandLine, _ console: Console, _ store: Store) throws {
    guard !(line.has("stat") && line.has("patch")) else {
      throw UsageError("one form of differences at a time")
    }
    changes = line.has("patch") ? .patch : line.has("stat") ? .stat : nil
    guard !line.has("graph") || changes == nil && !line.isJSON else {
      throw UsageError("--graph goes with neither --patch, --stat nor --json")
    }
    self.line = line
    self.console = console
    style = try console.style(line)
    story = VersionStory(store: store, labels: try VersionLabels(store))
    graph = line.has("graph") ? LogGraph() : nil
  }

  mutating func write(_ record: VersionRecord, predecessors: [VersionNumber]) throws {
    guard !line.isJSON else {
      let changes: ReplyValue = changes == nil ? [:] : ["changes": try changeRecords(of: record)]
      console.stream(json: try story.reply(of: record) + changes)
      return
    }
    let isShort = line.has("oneline")
    var lines: [String]
    if isShort {
      lines = [try story.line(of: record, style)]
    } else {
      lines = try story.heading(of: record, style)
      if changes == nil { lines += ["", "    \(try story.changesText(of: record))"] }
    }
    guard var graph else {
      if !isShort, !isFirst { console.stream(line: "") }
      isFirst = false
      for line in lines { console.stream(line: line) }
      if changes != nil { try writeChanges(of: record) }
      return
    }
    let step = graph.add(record.number, predecessors: predecessors)
    self.graph = graph
    if !isShort { lines.append("") }
    if isShort, let before = step.before { stream(before, "") }
    var rows = [step.node] + step.after
    while rows.count < lines.count { rows.append(step.padding) }
    for (index, row) in rows.enumerated() {
      let text = index < lines.count ? lines[index] : ""
      stream(row, text)
    }
  }

  /// Records a version that is not shown, and redirects its column in the graph.
  mutating func pass(_ number: VersionNumber, to next: [VersionNumber]) {
    guard var graph else { return }
    for row in graph.skip(number, to: next) { stream(row, "") }
    self.graph = graph
  }

  private func stream(_ row: String, _ text: String) {
    let drawn = style.paint(row, .blue)
    guard text.isEmpty else {
      console.stream(line: "\(drawn) \(text)")
      return
    }
    let end = row.lastIndex { $0 != " " }
    console.stream(line: style.paint(end.map { String(row[...$0]) } ?? "", .blue))
  }

  private mutating func changeRecords(of record: VersionRecord) throws -> [ReplyValue] {
    var writer = try writer(for: record)
    var records: [ReplyValue] = []
    try differences(of: record).forEach { records.append(try writer.record($0)) }
    finish(&writer)
    return records
  }

  private mutating func writeChanges(of record: VersionRecord) throws {
    var writer = try writer(for: record)
    console.stream(line: "")
    try differences(of: record).forEach { try writer.write($0) }
    finish(&writer)
  }

  private func writer(for record: VersionRecord) throws -> DiffWriter {
    var writer = try DiffWriter(line, console, standard: .stat, store: story.store)
    writer.sides = (try story.store.version(record.first), record)
    return writer
  }

  private mutating func finish(_ writer: inout DiffWriter) {
    writer.finish()
    if writer.lacksBytes { lacksBytes = true }
  }

  private func differences(of record: VersionRecord) throws -> VersionDifferences {
    let parent = try story.store.version(record.first)
    return try VersionDifferences(
      story.store, from: parent?.map ?? .empty, to: record.map, findingRenames: true)
  }
}
