import Control
import Grammar
import LLVSCore
import LLVSMount
import ObjectStores
import Platform

extension Verb {
  @Sendable static func peer(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.operands(0...3)
    let site = try CommandTarget(line)
    if words.count == 3 {
      guard words[1] == "adopt" else {
        throw UsageError("\"\(words[2])\" is one word too many: llvs peer NAME adopt WRITER")
      }
      let answer = try site.run(["adopt", words[0], words[2]], console)
      console.tell(answer, line)
      return .done
    }
    guard let name = words.first else { return try list(site, nil, line, console) }
    if let fault = StoreName.fault(name) { throw UsageError(fault) }
    let changes = ["reset", "force"].filter { line.has($0) }
    let directions = ["retrieve-only", "send-only"].filter { line.has($0) }
    guard directions.count < 2 else {
      throw UsageError("a peer is retrieve-only or send-only, not both")
    }
    let isLogin = line.has("login")
    guard
      words.count == 2 || !changes.isEmpty || !directions.isEmpty || isLogin
        || line.has("encrypt")
    else { return try list(site, name, line, console) }
    var told: [String] = []
    var fields: ReplyValue = ["peer": name]
    if words.count == 2, words[1] == "rm" {
      try forget(name, at: site)
      try PeerLogin(store: site.storePath, name: name).forget()
      fields += ["address": ReplyValue.null]
      console.reply(line, "\(name) is no longer a peer", fields)
      return .done
    }
    if words.count == 2 || isLogin {
      let address = try words.count == 2 ? wholeAddress(words[1]) : known(name, at: site)
      if words.count == 2, !changes.contains("force") {
        try refuseOccupied(address, name, at: site)
      }
      // The server asks for the credentials before it shows its keys.
      let found =
        try isLogin
        ? login(name, at: address, site, console, &told) : look(name, at: address, site, console)
      if words.count == 2 {
        if line.has("encrypt") {
          told.append(try encrypt(name, at: address, site, line, console).text)
        }
        try set(name, to: address, at: site)
        told.append("\(name) is \(address)" + (found.map { ", which \($0.text)" } ?? ""))
      } else if let found {
        told.append("\(name) \(found.text)")
      }
      fields += ["address": address, "found": found?.text]
      if found?.isEncrypted == true, !line.has("encrypt") {
        told.append("to get its key: llvs peer \(name) --encrypt")
      }
    }
    if line.has("encrypt"), words.count < 2 {
      let result = try encrypt(name, at: nil, site, line, console)
      told.append(result.text)
      fields = result.reply
    }
    if let direction = directions.first {
      told.append(try site.run(["set", "\(name).direction=\(direction)"], console).text)
    }
    for change in changes {
      told.append(try site.run(["peer", name, "--\(change)"], console).text)
    }
    console.reply(line, told.joined(separator: "\n"), fields)
    return .done
  }

  private static func known(_ name: String, at site: CommandTarget) throws -> String {
    guard let known = try site.reader().peers().first(where: { $0.name == name }) else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    return address(known)
  }

  /// Asks for the credentials of an address, and tries them; keeps none that the server refuses.
  private static func login(
    _ name: String, at address: String, _ site: CommandTarget, _ console: Console,
    _ told: inout [String]
  ) throws -> PlaceContents? {
    let login = PeerLogin(store: site.storePath, name: name)
    let before = login.kept
    try login.run(address, console)
    do {
      let found = try look(name, at: address, site, console, refusing: [.notPermitted])
      told.append("the credentials of \(name) are kept in \(site.storePath)/secrets")
      return found
    } catch let error as ControlError where error.kind == .notPermitted {
      if let before { try login.keep(before) } else { try login.forget() }
      throw ControlError(error.kind, "these credentials are not kept: \(error.message)")
    }
  }

  /// The time limit of a look at a place, in nanoseconds.
  private static let patience: UInt64 = 10_000_000_000

  /// Returns the contents of a place; nil, after a message, if the place cannot be reached now.
  /// - Throws: ``ControlError`` if it cannot be a peer, or of the kinds `refusing`.
  private static func look(
    _ name: String, at address: String, _ site: CommandTarget, _ console: Console,
    refusing: Set<ControlError.Kind> = []
  ) throws -> PlaceContents? {
    let end = SystemClock.monotonic() + patience
    let isCancelled = console.context.isCancelled
    let transfer = TransferControl(isStopped: { isCancelled() || SystemClock.monotonic() > end })
    let own: String? = if case .mounted(let tree, _) = site { tree.root } else { nil }
    do throws(ControlError) {
      let opening = try PeerOpening(
        name: name, store: translating { try site.reader() }, transfer: transfer)
      return try PeerOpener.besideMounts(own: own).look(
        at: PeerAddress(Array(address.utf8)), opening)
    } catch {
      let isLate = error.kind == .interrupted && !isCancelled()
      guard isLate || !refusing.union([.grammar, .interrupted]).contains(error.kind) else {
        throw error
      }
      console.complain("llvs: \(name): \(isLate ? "no answer within 10 seconds" : error.message).")
      return nil
    }
  }

  private static func list(
    _ site: CommandTarget, _ name: String?, _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    let peers = try site.reader().peers().filter { name == nil || $0.name == name }
    if let name, peers.isEmpty { throw ControlError(.notFound, "there is no peer \(name)") }
    let list = peers.map { ["name": $0.name, "address": address($0)] as ReplyValue }
    console.tell(
      line, peers.map { "\($0.name)  \(address($0))" }.joined(separator: "\n"),
      json: ["ok": true, "peers": list])
    return .done
  }

  private static func forget(_ name: String, at site: CommandTarget) throws {
    guard try site.reader().peers().contains(where: { $0.name == name }) else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    switch site {
    case .mounted(let tree, _): try FileSystem.unlink("\(tree.root)/.llvs/peers/\(name)")
    case .store: try ControlService.open(try site.writer()).removePeer(name)
    }
  }

  private static func set(_ name: String, to address: String, at site: CommandTarget) throws {
    guard case .mounted(let tree, _) = site else {
      return try ControlService.open(try site.writer(), opener: .besideMounts(own: nil))
        .setPeer(name, address: Array(address.utf8))
    }
    let path = "\(tree.root)/.llvs/peers/\(name)"
    if let fault = StoreName.fault(name) { throw UsageError(fault) }
    _ = try PeerAddress(Array(address.utf8))
    try File(path, [.readWrite, .create, .truncate]).write(Array("\(address)\n".utf8), at: 0)
    let isKnown = try site.reader().peers().contains {
      $0.name == name && self.address($0) == address
    }
    guard isKnown else {
      // The pattern made it a scratch file.
      try? FileSystem.unlink(path)
      throw ControlError(
        .grammar, "no peer can be called \(name): a pattern of .llvs/ignore matches it")
    }
  }

  /// Throws if a directory contains other files, before anything is exchanged with it.
  private static func refuseOccupied(
    _ address: String, _ name: String, at site: CommandTarget
  ) throws {
    guard case .remote(.directory(let path, _)) = try PeerAddress(Array(address.utf8)),
      try !site.reader().peers().contains(where: {
        $0.name == name && self.address($0) == address
      }),
      // The address of a mount point means the store behind it.
      (try? FileSystem.exists("\(path)/.llvs/control")) != true
    else { return }
    try ControlService.refuseOccupied(path, name: name)
  }

  private static func address(_ peer: Peer) -> String {
    String(decoding: peer.address.prefix { $0 != 0x0A }, as: UTF8.self)
  }

  /// Makes a relative path, or one below `~`, absolute, because the daemon has another current directory.
  static func wholeAddress(_ address: String) throws -> String {
    let (form, path) = DirectoryForm.split(address)
    let prefix = form.rawValue
    if path.hasPrefix("~/"), let home = SystemProcess.environment("HOME") {
      return prefix + home + path.dropFirst(1)
    }
    guard !path.hasPrefix("/"), !path.contains(":") else { return address }
    let isThere = (try? FileSystem.exists(path)) ?? false
    let isRelative = path == "." || path == ".." || path.hasPrefix("./") || path.hasPrefix("../")
    guard isRelative || isThere else {
      let here = SystemProcess.workingDirectory.map(FileSystem.text) ?? "/"
      throw UsageError(
        "\"\(path)\" is not a full path. Write \(prefix)\(here == "/" ? "" : here)/\(path)")
    }
    return prefix
      + FileSystem.text(try FileSystem.resolve(Array(path.utf8)))
  }
}

/// Asks for the credentials of a peer and keeps them in the store; only its owner can read them.
struct PeerLogin {
  let store: String
  let name: String

  /// Writes `secrets/NAME` of the store: secrets are typed invisibly on a terminal, else each is a line of input.
  /// - Throws: ``UsageError`` for a peer without credentials, or if an answer is missing.
  func run(_ address: String, _ console: Console) throws {
    let questions: [(prompt: String, key: String, isSecret: Bool)]
    switch try PeerAddress(Array(address.utf8)) {
    case .remote(.s3):
      questions = [("access key", "access_key", false), ("secret key", "secret_key", true)]
    case .remote(.webDAV): questions = [("user", "user", false), ("password", "password", true)]
    case .remote(.rclone):
      throw UsageError("rclone keeps the credentials of its remotes itself: rclone config")
    case .remote(.directory), .document:
      throw UsageError("\(name) is no server, and needs no credentials")
    }
    var lines = ""
    for (prompt, key, isSecret) in questions {
      let isAsked = StandardStream.input.isTerminal
      if isAsked { console.ask("\(name): \(prompt): ") }
      let input = StandardStream.input
      let answer = isAsked && isSecret ? input.readHiddenLine() : input.readLine()
      guard let answer, !answer.isEmpty, !answer.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
      else { throw UsageError("the \(prompt) is missing, and nothing is changed") }
      lines += "\(key)=\(answer)\n"
    }
    let directory = "\(store)/secrets"
    if try !FileSystem.exists(directory) {
      try FileSystem.makeDirectory(directory, permissions: 0o700)
    }
    try keep(Array(lines.utf8))
  }

  private var path: String { "\(store)/secrets/\(name)" }
  var kept: [UInt8]? { try? FileSystem.read(path, atMost: 1 << 16) }
  func keep(_ lines: [UInt8]) throws {
    try FileSystem.replace(path, with: lines, permissions: 0o600)
  }
  func forget() throws { if try FileSystem.exists(path) { try FileSystem.unlink(path) } }
}
