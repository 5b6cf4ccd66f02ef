import Control
import Grammar
import LLVSCore
import Platform
import TreeNames
import Web

extension Verb {
  /// Serves the page about a store until a signal ends the process.
  @Sendable static func web(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(0...0)
    let port = UInt16(try line.number("port", atMost: 65_535) ?? 0)
    let site = try CommandTarget(line)
    var mountPoint: String?
    if case .mounted(let tree, _) = site { mountPoint = tree.root }
    // Before the first thread starts: all threads inherit this.
    Signals.block(Signals.endings)
    let place = StorePlace(line, site)
    let options = WebService.Options(
      isReadOnly: line.has("read-only"), store: site.storePath, mountPoint: mountPoint)
    guard let server = WebServer(try site.reader(), place.commands, options, port: port) else {
      throw ControlError(
        .busy,
        port == 0
          ? "nothing can listen on 127.0.0.1"
          : "port \(port) of 127.0.0.1 is taken or not permitted")
    }
    defer { server.stop() }
    if line.isJSON {
      console.tell(json: ["ok": true, "url": server.address])
    } else {
      console.tell(server.address)
      console.say("Anyone who knows this address can use the page. Ctrl-C ends it.")
    }
    console.flush()
    let way = line.has("open") ? try PrivateFile(leadingTo: server.address) : nil
    defer { way?.remove() }
    if let way { try open(way, console) }
    _ = Signals.wait(for: Signals.endings)
    return .done
  }

  /// Opens a file in the browser, on another thread, because some programs run until the browser ends.
  private static func open(_ file: PrivateFile, _ console: Console) throws {
    let known = [["xdg-open"], ["gio", "open"], ["exo-open"], ["sensible-browser"]]
    guard let opener = known.first(where: { SystemProcess.isInstalled($0[0]) }) else {
      console.complain("llvs: no program that opens a browser is installed (xdg-open).")
      return
    }
    try SystemThread.detach(name: "llvs-web-open") {
      do throws(SystemError) {
        let code = try ChildProcess.run(opener + [file.path])
        if code != 0 { console.complain("llvs: \(opener[0]) ended with \(code).") }
      } catch {
        console.complain("llvs: \(opener[0]): \(error).")
      }
    }
  }
}

/// A file, readable only by its owner, that redirects a browser to an address. Every user of the machine can see
/// arguments of programs, and the address is a secret.
private struct PrivateFile: Sendable {
  private let directory: String
  let path: String

  init(leadingTo address: String) throws(SystemError) {
    directory = "\(SystemProcess.temporaryDirectory)/llvs-web-\(SystemRandom.hex(8))"
    path = "\(directory)/page.html"
    try FileSystem.makeDirectory(directory, permissions: 0o700)
    let text = "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=\(address)\">\n"
    try File(path, [.readWrite, .create, .exclusive]).write(Array(text.utf8), at: 0)
  }

  func remove() { try? FileSystem.removeTree(directory) }
}

/// A store whose commands run one by one: it may be mounted and unmounted between them.
private struct StorePlace: Sendable {
  private let line: CommandLine

  init(_ line: CommandLine, _ site: CommandTarget) {
    var line = line
    line.store = site.storePath
    line.mount = nil
    self.line = line
  }

  private var site: CommandTarget { get throws { try CommandTarget(line) } }

  var commands: WebCommands {
    WebCommands(
      run: { (words, context) throws(ControlError) in
        try told { try run(words, context).json }
      },
      settle: { (path, bytes) throws(ControlError) in
        try told { try settle(path, bytes) }
      },
      status: { () throws(ControlError) in try told { try status() } })
  }

  private func run(_ words: [[UInt8]], _ context: CommandContext) throws -> Answer {
    let site = try site
    guard case .mounted(let tree, _) = site else { return try site.run(bytes: words, context) }
    // That thread makes another one, because it is not for two threads.
    return try FollowedCommand.run(at: tree.root, context) { [self] in
      try self.site.run(bytes: words)
    }
  }

  private func settle(_ path: [UInt8], _ bytes: [UInt8]) throws -> String {
    let site = try site
    switch site {
    case .mounted(let tree, _):
      let place = MergePlace.mounted(tree, try site.reader())
      try place.begin(path)
      try place.settle(path, with: bytes)
    case .store:
      let service = try ControlService.open(try site.writer())
      defer { service.hooks.finish() }
      try service.settle(path, with: bytes)
    }
    return CommandResult("\(PrintableText.text(path)) is settled").json
  }

  private func status() throws -> String {
    let site = try site
    switch site {
    case .mounted(let tree, _): return try CommandTarget.status(of: tree.root)
    case .store: return try ControlService.open(try site.writer()).status().reply.json
    }
  }

  /// Converts any error to one for the page.
  private func told<R>(_ body: () throws -> R) throws(ControlError) -> R {
    do {
      return try body()
    } catch {
      switch error {
      case is ControlError, is StoreError: throw ControlError(any: error)
      case let error as SystemError where !error.tellsOfEndedDaemon:
        throw ControlError(any: error)
      default: throw ControlError(.unreachable, Failure(error).message)
      }
    }
  }
}
