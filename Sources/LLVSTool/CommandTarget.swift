import Control
import Foundation
import FuseSession
import Grammar
import LLVSCore
import LLVSMount
import Platform

/// The target of a command: a mounted store, through its control file, or the store itself.
enum CommandTarget {
  case mounted(MountView, store: String)
  /// `isForced` writes it even on a kind of file system that is not safe for a store.
  case store(String, isForced: Bool)

  /// Finds the target that a command line names, or the mount that the current directory is in.
  init(_ line: CommandLine) throws {
    let mounts = HistoryMount.others(of: try MountTable())
    if let store = line.store {
      let path = try Self.resolve(store: store)
      try MountedStores.release(path)
      self =
        MountedStores.mount(of: path, in: mounts)
        .map { .mounted(MountView($0), store: path) }
        ?? .store(path, isForced: line.has("force"))
      return
    }
    if let mount = line.mount { try MountedStores.release(at: mount) }
    let path =
      try line.mount.map { Array(try FileSystem.resolve($0).utf8) }
      ?? SystemProcess.workingDirectory
    // The deepest mount that contains the path; of several on one directory, the last.
    var found: MountEntry?
    for entry in mounts where Self.contains(entry.path, path) {
      if entry.path.count >= found?.path.count ?? 0 { found = entry }
    }
    guard let found, found.type == "fuse.llvs" else {
      throw ControlError(
        .notFound,
        "\(FileSystem.text(path)) is not in a mounted store; name one with --store DIR or --mount DIR"
      )
    }
    do {
      self = .mounted(MountView(found), store: try MountedStores.store(of: found))
    } catch let error as SystemError where error.errno == Errno.accessDenied {
      throw GuestAccess(mount: MountView(found))
    }
  }

  private static func resolve(store: String) throws -> String {
    guard try FileSystem.exists(store) else {
      throw ControlError(.notFound, "there is no store at \(store)")
    }
    return try FileSystem.resolve(store)
  }

  private static func contains(_ directory: [UInt8], _ path: [UInt8]) -> Bool {
    directory == [0x2F] || path == directory
      || path.starts(with: directory) && path[directory.count] == 0x2F
  }

  /// Opens the store for reading; other processes may have it open too.
  func reader() throws -> Store {
    switch self {
    case .mounted(_, let store):
      // The daemon that writes the store is on this machine, so locks work between the two
      // processes.
      return try Store.open(path: store, mode: .reader, isForced: true)
    case .store(let store, let isForced):
      return try Store.open(path: store, mode: .reader, isForced: isForced)
    }
  }

  /// Opens the store for writing; no other process may have it open for writing.
  func writer() throws -> Store {
    switch self {
    case .mounted(_, let store): try Store.open(path: store, mode: .writer)
    case .store(let store, let isForced):
      try Store.open(path: store, mode: .writer, isForced: isForced)
    }
  }

  var storePath: String {
    switch self {
    case .mounted(_, let store), .store(let store, _): store
    }
  }
}

extension ControlError {
  /// Reads the JSON of an error; nil for another text.
  init?(json text: String) {
    guard
      case .record(let fields)? = try? JSONDecoder().decode(ReplyValue.self, from: Data(text.utf8)),
      case .text(let word)? = fields.first(where: { $0.name == "error" })?.value,
      let kind = Kind(rawValue: word),
      case .text(let message)? = fields.first(where: { $0.name == "message" })?.value
    else { return nil }
    self.init(kind, message)
    guard case .text(let text)? = fields.first(where: { $0.name == "text" })?.value else { return }
    let own: Set = ["ok", "error", "message", "text"]
    done = Done(text: text, fields: fields.filter { !own.contains($0.name) })
  }
}

/// The result of a command, for people and for programs.
struct Answer {
  var text: String
  /// The result as JSON.
  var json: String
  /// True if a merge clashed.
  var hasConflicts: Bool
  /// The faults that a check found.
  var damage: [String] = []

  init(_ result: CommandResult) {
    text = result.text
    json = result.json
    hasConflicts = result.fields.contains { field in
      guard field.name == "conflicts", case .list(let paths) = field.value else { return false }
      return !paths.isEmpty
    }
  }

  /// Reads the JSON reply of a mounted store.
  ///
  /// - Throws: ``ControlError`` of kind `damaged` for another text.
  init(json: String) throws {
    guard let fields = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    else { throw ControlError(.damaged, "the reply of the mount cannot be read") }
    self.json = json
    text = fields["text"] as? String ?? json
    hasConflicts = !(fields["conflicts"] as? [Any] ?? []).isEmpty
    damage = fields["damage"] as? [String] ?? []
  }
}

extension CommandTarget {
  /// Runs a command on the target.
  func run(_ words: [String], _ console: Console? = nil) throws -> Answer {
    try run(bytes: words.map { Array($0.utf8) }, console)
  }

  /// Runs a command whose words may be any bytes.
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

  /// Runs a command with the caller's functions; a mounted store calls none of them.
  func run(bytes words: [[UInt8]], _ context: CommandContext) throws -> Answer {
    switch self {
    case .store:
      let command = try ControlCommand(words: words)
      let service = try ControlService.open(try writer(), opener: .besideMounts(own: nil))
      // Nobody is left to run them once this process has ended.
      defer { service.hooks.finish() }
      return Answer(try service.run(command, context: context))
    case .mounted(let tree, _):
      // Parsed here first, so that a malformed command never reaches the control file.
      _ = try ControlCommand(words: words)
      return try Answer(
        json: try Self.write(Array("json ".utf8) + Self.line(words), to: tree.root))
    }
  }

  /// Formats a message for the line of a `commit`: unchanged, or in quotes if it has several lines.
  private static func message(_ text: [UInt8]) -> [UInt8] {
    var text = text[...]
    while let last = text.last, last <= 0x20 { text.removeLast() }
    text = text.drop { $0 == 0x0A || $0 == 0x0D }
    let quote = UInt8(ascii: "\"")
    var end = [quote]
    if !text.contains(0x0A) {
      // A quote that has no end is refused, unless it is in a message of lines.
      guard let first = text.first, first == quote || first == UInt8(ascii: "'"),
        !text.dropFirst().contains(first)
      else { return Array(text) }
      end = [0x0A, quote]
    }
    let special = [quote] + Array("\\$`".utf8)
    return [quote] + text.flatMap { special.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] } + end
  }

  /// Formats words as a line of the control file.
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
      // These errnos come from the mount, not from a command: a command's failures are EHOSTUNREACH
      // and EBUSY.
      guard !error.tellsOfEndedDaemon else { throw EndedDaemon(root: root) }
      let reply = (try? text(of: file)) ?? ""
      let words = reply.split(separator: "\n").last.map(String.init) ?? ""
      var failure = ControlError(.system(error))
      if error.errno == Errno.invalid { failure.kind = .grammar }
      if error.errno == Errno.crossDevice { failure.kind = .unrelated }
      if error.errno == Errno.interrupted { failure = ControlError(.interrupted, "interrupted") }
      if let told = ControlError(json: words) { failure = told }
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
