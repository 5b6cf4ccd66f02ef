import Control
import Events
import Grammar
import HistoryTree
package import LLVSCore
import Platform
import TreeNames

/// Answers the requests of the page: `GET` reads, `POST` starts a command.
/// - Concurrency: any thread; each connection has one.
package final class WebService: WebAnswering {
  /// The rights of the page, and the path of the store.
  package struct Options: Sendable {
    /// True if no command may run.
    package var isReadOnly: Bool
    package var store: String
    package var mountPoint: String?

    package init(isReadOnly: Bool, store: String, mountPoint: String?) {
      self.isReadOnly = isReadOnly
      self.store = store
      self.mountPoint = mountPoint
    }
  }

  private let gate: Monitor<Gate>
  private let options: Options
  private let commands: WebCommands
  private let store: Store
  private let versions: VersionList
  private let desk: CommandQueue
  private let conflictCount: ConflictCount
  private let space: SpaceAnswer
  private var history: History { History(store: store) }
  private var conflicts: Conflicts { Conflicts(history: history) }

  package init(_ store: Store, _ commands: WebCommands, _ options: Options, gate: Gate) {
    let pool = WorkerPool(name: "llvs-web", limit: 4)
    self.store = store
    self.commands = commands
    self.options = options
    self.gate = Monitor(gate)
    versions = VersionList(store, pool: pool)
    desk = CommandQueue(pool: pool)
    conflictCount = ConflictCount(store, pool: pool)
    space = SpaceAnswer(store)
  }

  func move(to gate: Gate) { self.gate.withLock { $0 = gate } }
  package func close() { desk.close() }

  package func refusal(_ request: WebRequest) -> WebResponse? {
    gate.withLock { $0 }.refusal(request).map(Self.guarded)
  }

  package func answer(_ request: WebRequest) -> WebResponse {
    let gate = gate.withLock { $0 }
    if let refusal = gate.refusal(request) { return Self.guarded(refusal) }
    guard let place = gate.place(of: request) else { return Self.guarded(Self.nothing) }
    do {
      if let file = PageFile(place) {
        return Self.guarded(
          request.method == "POST" ? Self.wrongMethod : file.response(base: gate.address))
      }
      if request.method == "POST" { return Self.guarded(try post(place, request)) }
      return Self.guarded(try get(place, request) ?? Self.nothing)
    } catch {
      return Self.guarded(WebResponse(ControlError(any: error)))
    }
  }

  private static let nothing = WebResponse(
    refusal: "There is nothing at this address.", status: 404)
  private static let wrongMethod = WebResponse(
    refusal: "This address takes no such request.", status: 405)

  private static func guarded(_ response: WebResponse) -> WebResponse {
    var response = response
    response.headers += [
      ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
      ("Cross-Origin-Opener-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
    ]
    if !response.headers.contains(where: { $0.name == "Content-Security-Policy" }) {
      response.headers.append(("Content-Security-Policy", "default-src 'none'; sandbox"))
    }
    return response
  }

  private func get(_ place: String, _ request: WebRequest) throws -> WebResponse? {
    switch place {
    case "api/state": return WebResponse(json: try state())
    case "api/status": return WebResponse(json: try commands.status())
    case "api/pending":
      return WebResponse(json: try commands.run([Array("pending".utf8)], CommandContext()))
    case "api/log":
      return WebResponse(["lines": EventLog(directory: store.path).lastLines(100)])
    case "api/versions":
      return WebResponse(
        try versions.page(
          from: min(request.number("from") ?? 0, Int(UInt32.max)),
          count: request.number("count") ?? 100))
    case "api/find":
      return WebResponse(try versions.find(request, path: try history.path(request)))
    case "api/undo":
      let heads = HeadHistory(store, DamageReport())
      let step = try request.number("redo") == 1 ? heads.redo() : heads.undo()
      let change = try step.flatMap { try store.version($0.change.version) }
      let story = try versions.current().story
      return WebResponse(["change": try change.map { try VersionList.reply(of: $0, story) }])
    case "api/timeline": return WebResponse(try versions.timeline())
    case "api/index":
      return WebResponse(try versions.index(of: try history.version(request).number))
    case "api/version":
      return WebResponse(
        try history.version(try history.version(request), try versions.current().story))
    case "api/compare":
      let (old, new) = (try history.version(request, "a"), try history.version(request))
      return WebResponse(try history.changes(from: old.map, to: new.map))
    case "api/tree":
      return WebResponse(try history.tree(try history.version(request), try history.path(request)))
    case "api/file":
      return WebResponse(try history.file(try history.version(request), try history.path(request)))
    case "api/history":
      return WebResponse(
        try history.revisions(
          of: try history.path(request), at: try history.version(request),
          try versions.current().story))
    case "api/difference": return WebResponse(try difference(request))
    case "api/space": return WebResponse(try space.reply())
    case "api/conflicts": return WebResponse(try conflicts.list())
    case "api/conflict":
      return WebResponse(
        try conflicts.sides(
          try history.path(request), against: request.text("against") ?? "theirs"))
    case "raw":
      let path = try history.path(request)
      let entry = try history.knownEntry(try history.version(request), path)
      return try history.raw(entry, path: path, range: request.headers["range"])
    case "side":
      let path = try history.path(request)
      let name = request.text("side") ?? ""
      guard let entry = try conflicts.side(name, of: conflicts.find(path)) else {
        throw ControlError(.notFound, "this side removed the file")
      }
      return try history.raw(entry, path: path, range: request.headers["range"])
    default: return nil
    }
  }

  private func state() throws -> String {
    let state = try store.state()
    let head = try store.version(state.head)
    let fields: ReplyValue = [
      "store": options.store, "mountPoint": options.mountPoint, "isReadOnly": options.isReadOnly,
      "head": head?.name, "line": head?.line == VersionRecord.unnamedLine ? nil : head?.line ?? "",
      "newest": state.lastNumber, "conflicts": try conflictCount.current(),
    ]
    return "\(fields.json.dropLast()),\(desk.json)}"
  }

  private func difference(_ request: WebRequest) throws -> ReplyValue {
    let new = try history.version(request)
    let path = try history.path(request)
    // By default the first predecessor.
    let old =
      request.arguments["a"] == nil
      ? try store.version(new.first) : try history.version(request, "a")
    var before = path
    if let from = request.arguments["from"], from.count <= 4096 { before = from }
    let entries = (try old.flatMap { try history.entry($0, before) }, try history.entry(new, path))
    guard entries.0 != nil || entries.1 != nil else {
      throw ControlError(
        .notFound, "neither version has a file \(PrintableText.text(path))")
    }
    try history.checkBytes(of: entries.0, at: before, in: old)
    try history.checkBytes(of: entries.1, at: path, in: new)
    let sides: ReplyValue = ["before": old?.name, "after": new.name]
    return try sides
      + history.difference(
        from: entries.0, to: entries.1, path: path, isWhole: request.number("whole") == 1)
  }

  private func post(_ place: String, _ request: WebRequest) throws -> WebResponse {
    guard !options.isReadOnly else {
      throw ControlError(.readOnly, "the page was started with --read-only")
    }
    guard request.headers["content-type"] == "application/x-www-form-urlencoded",
      let form = FormBody(request.body)
    else { throw ControlError(.grammar, "the request cannot be read") }
    switch place {
    case "api/run":
      let command = try PageCommand(form)
      let id = try desk.start(command.title) { [self] context throws(ControlError) in
        try run(command, context)
      }
      return WebResponse(["id": id], status: 202)
    case "api/cancel":
      desk.cancel()
      return WebResponse(["ok": true])
    default: return Self.nothing
    }
  }

  private func run(
    _ command: PageCommand, _ context: CommandContext
  ) throws(ControlError) -> String {
    if let (path, seen) = command.conflict {
      try conflicts.check(path, seen: seen)
      if command.words == nil { return try commands.settle(path, command.text) }
    }
    return try commands.run(command.words ?? [], context)
  }
}
