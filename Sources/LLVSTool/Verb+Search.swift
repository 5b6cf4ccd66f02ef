import Grammar
import HistoryTree
import LLVSCore
import Platform
import Reports
import TreeNames

extension Verb {
  /// Compiles a pattern, as the options of a verb say.
  static func pattern(_ bytes: [UInt8], _ line: CommandLine) throws -> RegularExpression {
    do {
      return try RegularExpression(
        bytes, ignoringCase: line.has("ignore-case"), isFixed: line.has("fixed-strings"))
    } catch {
      throw UsageError("\(PrintableText.text(bytes)) is not a pattern: \(error.reason)")
    }
  }

  @Sendable static func grep(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    guard let pattern = line.bytes.first else { _ = try line.operands(1...1); return .usage }
    let site = try CommandTarget(line)
    let store = try site.reader()
    let rest = line.droppingFirst()
    let operands = try Operands(rest, site, store, versions: 2)
    let expression = try Self.pattern(pattern, line)
    let style = try console.style(line)
    console.page(line)
    var count = 0
    var search = try HistorySearch(
      store, expression, paths: operands.paths.isEmpty ? site.shownPaths : operands.paths,
      findsFilesOnly: line.has("files-with-matches"))
    let skipsBinary = line.has("skip-binary")
    let show = { (found: FoundLine) in
      if skipsBinary, found.number == nil { return }
      count += 1
      Self.show(found, line, style, console)
    }
    if operands.versions.isEmpty || operands.isRange {
      var limits = LogQuery.Limits(paths: operands.paths)
      // A forgotten version may have introduced bytes that a kept one still has.
      limits.includesForgotten = true
      if operands.isRange { limits.notBefore = operands.versions[0].number }
      let start = try operands.versions.last?.number ?? store.state().head
      var query = try LogQuery(
        store, from: start.map { [$0] } ?? [], limits: limits, order: .newestFirst)
      while let step = try query.next() {
        if case .shown(let record, _) = step { try search.search(changesOf: record, show) }
      }
    } else {
      for record in operands.versions { try search.search(all: record, show) }
    }
    console.complain(about: search.missing)
    if search.missing.count > 0 { return .forgotten }
    return count > 0 ? .done : .conflict
  }

  private static func show(
    _ found: FoundLine, _ line: CommandLine, _ style: TextStyle, _ console: Console
  ) {
    let isShort = line.has("files-with-matches")
    guard !line.isJSON else {
      let place: ReplyValue = ["version": found.version.name, "path": ReplyBytes(found.path)]
      console.stream(
        json: isShort ? place : place + ["line": found.number, "text": ReplyBytes(found.text)])
      return
    }
    let place =
      "\(style.paint(found.version.name, .yellow)):"
      + style.paint(PrintableText.text(found.path), .magenta)
    guard !isShort else { return console.stream(line: place) }
    guard let number = found.number else {
      return console.stream(line: "Binary file \(place) matches")
    }
    console.stream(
      line: "\(place):\(style.paint("\(number)", .green)):"
        + String(decoding: PrintableText.visible(found.text, sparing: 0x5C), as: UTF8.self))
  }

  @Sendable static func blame(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.operands(1...2)
    let site = try CommandTarget(line)
    let store = try site.reader()
    let record = try store.version(meant: words.count > 1 ? words[1] : "head")
    var blame = Blame(store)
    let lines = try blame.lines(of: try site.path(line.bytes[0]), in: record)
    let story = VersionStory(store: store, labels: try VersionLabels(store))
    let style = try console.style(line)
    console.page(line)
    var makers: [VersionNumber: VersionStory.Words] = [:]
    for found in lines where makers[found.version.number] == nil {
      makers[found.version.number] = try story.words(of: found.version)
    }
    let authors = makers.mapValues { words in
      VersionStory.clean([words.author, words.machine].compactMap(\.self).joined(separator: "@"))
    }
    let width = min(authors.values.map(\.count).max() ?? 0, 32)
    let digits = "\(lines.count)".count
    for (index, found) in lines.enumerated() {
      var text = found.text
      if text.last == 0x0A { text.removeLast() }
      if text.last == 0x0D { text.removeLast() }
      guard !line.isJSON else {
        let words = makers[found.version.number]
        console.stream(json: [
          "line": index + 1, "version": found.version.name,
          "time": VersionStory.time(found.version), "author": words?.author,
          "machine": words?.machine, "path": ReplyBytes(found.path), "text": ReplyBytes(text),
        ])
        continue
      }
      let author = authors[found.version.number] ?? ""
      let gap = String(repeating: " ", count: max(0, width - author.count))
      let place = String(repeating: " ", count: digits - "\(index + 1)".count) + "\(index + 1)"
      console.stream(
        line: "\(style.paint(found.version.name, .yellow)) \(author)\(gap) "
          + "\(style.paint(place, .green)) "
          + String(decoding: PrintableText.visible(text, sparing: 0x5C), as: UTF8.self))
    }
    console.complain(about: blame.missing)
    return blame.missing.count > 0 ? .forgotten : .done
  }
}
