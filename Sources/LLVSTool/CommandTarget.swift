import Control
import FuseSession
import Grammar
import LLVSCore
import LLVSMount
import Platform

/// The target of a command: a mounted store, through its control file, or the store itself.
enum CommandTarget {
  case mounted(MountView, store: String)
  /// `isForced` writes it even on an unsafe kind of file system.
  case store(String, isForced: Bool)

  /// Finds the target that a command line names, or the mount of the current directory.
  init(_ line: CommandLine) throws {
    let mounts = HistoryMount.others(of: try MountTable())
    if let store = line.store {
      guard try FileSystem.exists(store) else {
        throw ControlError(.notFound, "there is no store at \(store)")
      }
      let path = try FileSystem.resolve(store)
      try MountedStores.release(path)
      self =
        MountedStores.mount(of: path, in: mounts)
        .map { .mounted(MountView($0), store: path) }
        ?? .store(path, isForced: line.has("force"))
      return
    }
    if let mount = line.mount { try MountedStores.release(at: mount) }
    let mount = try line.mount.map { Array(try FileSystem.resolve($0).utf8) }
    guard let path = mount ?? SystemProcess.workingDirectory else {
      throw ControlError(.notFound, "the current directory was removed; change to another")
    }
    // The deepest mount that contains the path; of several at one directory, the last.
    var found: MountEntry?
    for entry in mounts where Self.contains(entry.path, path) {
      if entry.path.count >= found?.path.count ?? 0 { found = entry }
    }
    guard let found, found.type == "fuse.llvs" else {
      let there = mounts.filter { $0.type == "fuse.llvs" }.map { FileSystem.text($0.path) }
      throw ControlError(
        .notFound,
        "\(FileSystem.text(path)) is not in a mounted store; name one with --store DIR or --mount DIR"
          + (there.isEmpty ? "" : " (mounted: \(there.joined(separator: ", ")))"))
    }
    do {
      self = .mounted(MountView(found), store: try MountedStores.store(of: found))
    } catch let error as SystemError where error.errno == Errno.accessDenied {
      throw GuestAccess(mount: MountView(found))
    }
  }

  private static func contains(_ directory: [UInt8], _ path: [UInt8]) -> Bool {
    directory == [0x2F] || path == directory
      || path.starts(with: directory) && path[directory.count] == 0x2F
  }

  // The daemon that writes a mounted store is on this machine, so locks work between it and a reader.
  func reader() throws -> Store { try open(.reader, ifMounted: true) }
  func writer() throws -> Store { try open(.writer, ifMounted: false) }

  private func open(_ mode: AccessMode, ifMounted: Bool) throws -> Store {
    let isForced = if case .store(_, let isForced) = self { isForced } else { ifMounted }
    return try Store.open(path: storePath, mode: mode, isForced: isForced)
  }

  var storePath: String {
    switch self {
    case .mounted(_, let store), .store(let store, _): store
    }
  }
}

extension ControlError {
  /// Reads an error of a mounted store; nil for another reply.
  fileprivate init?(_ reply: ReplyValue) {
    guard case .text(let word)? = reply["error"], let kind = Kind(rawValue: word),
      case .text(let message)? = reply["message"]
    else { return nil }
    self.init(kind, message)
    guard case .text(let text)? = reply["text"] else { return }
    let own: Set = ["ok", "error", "message", "text"]
    done = Done(text: text, fields: .record(reply.fields.filter { !own.contains($0.name) }))
  }
}

struct Answer {
  let text: String
  let json: String
  let reply: ReplyValue
  var isQuery = false
  init(_ result: CommandResult) { (text, json, reply) = (result.text, result.json, result.reply) }

  init(json: String) throws {
    guard let reply = ReplyValue(json: json) else {
      throw ControlError(.damaged, "the reply of the mount cannot be read")
    }
    self.json = json
    self.reply = reply
    if case .text(let text)? = reply["text"] { self.text = text } else { text = json }
  }
}

extension Console {
  /// Prints the result of a command; with --quiet, only that of commands that show something.
  func tell(_ answer: Answer, _ line: CommandLine) {
    if line.isJSON {
      tell(answer.json)
    } else if answer.isQuery {
      tell(answer.text)
    } else {
      say(answer.text)
    }
  }
}

extension CommandTarget {
  func run(_ words: [String], _ console: Console? = nil) throws -> Answer {
    try run(bytes: words.map { Array($0.utf8) }, console)
  }

  func run(bytes words: [[UInt8]], _ console: Console? = nil) throws -> Answer {
    let context = console?.context ?? CommandContext()
    guard case .mounted(let tree, _) = self, console?.showsProgress ?? false else {
      return try run(bytes: words, context)
    }
    defer { console?.clear() }
    return try FollowedCommand.run(at: tree.root, context) { [self] in
      try self.run(bytes: words, CommandContext())
    }
  }

  func run(bytes words: [[UInt8]], _ context: CommandContext) throws -> Answer {
    // Parsed here first, so that a malformed command never reaches the control file.
    let command = try Commands.parse(words)
    var answer: Answer
    switch self {
    case .store:
      let service = try ControlService.open(try writer(), opener: .besideMounts(own: nil))
      // No process runs them after the end of this one.
      defer { service.hooks.finish() }
      answer = Answer(try service.run(command, context: context))
    case .mounted(let tree, _):
      answer = try Answer(
        json: try Self.write(Array("json ".utf8) + Self.line(words), to: tree.root))
    }
    answer.isQuery = command.effect == .query
    return answer
  }

  /// Formats a message for the line of a `commit`: unchanged, or in quotes if it has several lines.
  private static func message(_ text: [UInt8]) -> [UInt8] {
    var text = text[...]
    while let last = text.last, last <= 0x20 { text.removeLast() }
    text = text.drop { $0 == 0x0A || $0 == 0x0D }
    let quote = UInt8(ascii: "\"")
    var end = [quote]
    if !text.contains(0x0A) {
      // A quote without an end is refused, except in a message of several lines.
      guard let first = text.first, first == quote || first == UInt8(ascii: "'"),
        !text.dropFirst().contains(first)
      else { return Array(text) }
      end = [0x0A, quote]
    }
    let special = [quote] + Array("\\$`".utf8)
    return [quote] + text.flatMap { special.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] } + end
  }

  static func line(_ words: [[UInt8]]) -> [UInt8] {
    if words.first?.elementsEqual("commit".utf8) ?? false {
      return Array("commit ".utf8) + message(Array(words.dropFirst().joined(separator: [0x20])))
    }
    let quote = UInt8(ascii: "'")
    let quoted = words.map { word in
      [quote]
        + word.split(separator: quote, omittingEmptySubsequences: false)
        .joined(separator: Array("'\\''".utf8)) + [quote]
    }
    return Array(quoted.joined(separator: [0x20]))
  }

  private static func write(_ line: [UInt8], to root: String) throws -> String {
    let file = try File("\(root)/.llvs/control", .readWrite)
    do {
      try file.writeOnce(line + [0x0A], at: 0)
    } catch {
      // These errnos come from the mount, because a command's failures are EHOSTUNREACH and EBUSY.
      guard !error.tellsOfEndedDaemon else { throw EndedDaemon(root: root) }
      let reply = (try? text(of: file)) ?? ""
      let words = reply.split(separator: "\n").last.map(String.init) ?? ""
      var failure = ControlError(.system(error))
      if error.errno == Errno.invalid { failure.kind = .grammar }
      if error.errno == Errno.crossDevice { failure.kind = .unrelated }
      if error.errno == Errno.interrupted { failure = ControlError(.interrupted, "interrupted") }
      if let told = ReplyValue(json: words).flatMap({ ControlError($0) }) { failure = told }
      throw failure
    }
    return try text(of: file)
  }

  private static func text(of file: File) throws -> String {
    var bytes: [UInt8] = []
    while true {
      let part = try file.read(65_536, at: UInt64(bytes.count))
      if part.isEmpty { break }
      bytes += part
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
