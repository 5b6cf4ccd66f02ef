import Control
import Grammar
import HistoryTree
import LLVSCore
import Platform
import Search
import TreeNames
import WorkingTree

extension Verb {
  @Sendable static func search(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.operands(1...256).joined(separator: " ")
    guard let query = SearchQuery(words) else {
      throw UsageError("nothing to search for, or too much, in '\(words)'")
    }
    let site = try CommandTarget(line)
    let store = try site.reader()
    var faults: [String] = []
    let limit = Int(try StoreSettings(of: store, faults: &faults).searchLimit)
    var request = try searchRequest(query, line, site)
    let deadline = try line.options["wait"].map { text in
      guard let time = Measure.duration(text) else {
        throw UsageError("--wait is a time, such as 0 or 5s, not \(text)")
      }
      return SystemClock.monotonic() + time
    }
    if let place = livePlace(site, console) {
      request.pending = try SearchPending(of: place, textLimit: limit)
    }
    func isLate() -> Bool { deadline.map { SystemClock.monotonic() >= $0 } ?? false }
    let index = try SearchIndex(of: store, textLimit: limit, isCancelled: isLate) { done, total in
      console.progress(CommandProgress("indexing", done: done, total: total))
    }
    request.isCaughtUp = !isLate()
    var result: SearchResult
    do {
      result = try index.search(request)
    } catch StoreError.cancelled {
      request.isCaughtUp = false
      result = try index.search(request)
    }
    console.page(line)
    var missing = MissingBytes(store)
    for hit in result.hits { try show(hit, store, &missing, line, console) }
    complain(of: result, request.pending, console)
    console.complain(about: missing)
    return missing.count > 0 ? .forgotten : result.count == 0 ? .conflict : .done
  }

  private static func searchRequest(
    _ query: SearchQuery, _ line: CommandLine, _ site: CommandTarget
  ) throws -> SearchIndex.Request {
    var request = SearchIndex.Request(query)
    request.directory =
      try line.optionBytes["under"].map { try site.path($0) } ?? site.shownPaths.first ?? []
    request.includesHistory = line.has("history")
    request.isExact = line.has("exact")
    request.limit = try line.number("count") ?? request.limit
    if line.has("list") { request.lineCount = 0 }
    switch line.options["sort"] ?? "rank" {
    case "rank": request.order = .rank
    case "time": request.order = .time
    case "path": request.order = .path
    case let other: throw UsageError("--sort is rank, time or path, not \(other)")
    }
    return request
  }

  static func livePlace(_ site: CommandTarget, _ console: Console) -> LivePlace? {
    switch site {
    case .mounted(let view, _): .mount(view)
    case .store: LivePlace(unmounted: site, console)
    }
  }

  private static func show(
    _ hit: SearchHit, _ store: Store, _ missing: inout MissingBytes, _ line: CommandLine,
    _ console: Console
  ) throws {
    let record = try hit.version.flatMap { number throws(StoreError) in try store.version(number) }
    var lacksBytes = false
    if let record,
      case .value(let entry)? = try TreeView(map: store.map(of: record)).find(path: hit.path),
      try !store.canRead(entry.stored)
    {
      lacksBytes = true
      try missing.add(hit.path, of: record)
    }
    guard !line.isJSON else {
      let lines = hit.lines.map { ["line": $0.number, "text": $0.text] as ReplyValue }
      console.stream(json: [
        "path": ReplyBytes(hit.path), "version": record?.name, "isForgotten": lacksBytes,
        "lines": lines,
      ])
      return
    }
    let name = (record.map { "\($0.name):" } ?? "") + PrintableText.text(hit.path)
    if lacksBytes, !line.has("list") { console.stream(line: "\(name): bytes are forgotten") }
    if hit.lines.isEmpty, !lacksBytes || line.has("list") { console.stream(line: name) }
    for line in hit.lines {
      console.stream(line: "\(name):\(line.number):\(PrintableText.harmless(line.text))")
    }
  }

  private static func complain(
    of result: SearchResult, _ pending: SearchPending, _ console: Console
  ) {
    let more = result.count - result.hits.count
    if more > 0 {
      console.complain(
        "llvs: \(PrintableText.count(more, "more file")); -n \(result.count) shows all.")
    }
    if !result.isCurrent {
      console.complain("llvs: what changed last is not indexed yet, and not searched.")
    }
    if let unreadable = result.unreadable {
      let first = PrintableText.text(unreadable.first)
      console.complain(
        "llvs: \(PrintableText.count(unreadable.count, "file")) cannot be read and searched, such as \(first)."
      )
    }
    if result.cut > 0 {
      console.complain(
        "llvs: of \(PrintableText.count(result.cut, "long file")) only the beginning is searched (setting searchlimit)."
      )
    }
    if let first = pending.left.first {
      console.complain(
        "llvs: too much is in no version yet to search it now: "
          + "\(PrintableText.count(pending.left.count, "file")), such as \(PrintableText.text(first)); commit first."
      )
    }
  }
}

extension LivePlace: SearchedTree {
  func pendingNames() throws -> [(change: PendingPath.Change, path: [UInt8])] {
    switch self {
    case .mount(let view):
      let reply = try CommandTarget.mounted(view, store: "").run(["pending"]).text
      return Self.pending(reply).filter { view.below($0.path) != nil }
    case .tree(let tree): return try tree.pendingNames()
    }
  }

  func searchedFile(_ path: [UInt8]) throws -> SearchedFile? {
    switch self {
    case .tree(let tree): return try tree.searchedFile(path)
    case .mount(let view):
      let place = try view.place(path)
      guard let status = try? FileSystem.status(place), let kind = EntryKind(status.kind) else {
        return nil
      }
      return SearchedFile(kind: kind, length: status.size, time: status.modifiedSeconds) {
        try File(bytes: place, .read).read($0, at: 0)
      }
    }
  }

  func searchedNames(in path: [UInt8]) throws -> [[UInt8]] { try names(in: path) }
}
