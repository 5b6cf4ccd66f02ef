import Control
import Grammar
import LLVSCore
import LLVSMount
import Platform

extension Verb {
  @Sendable static func clone(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.operands(2...3)
    let address = try wholeAddress(words[0])
    let name = line.options["name"] ?? "origin"
    if let fault = StoreName.fault(name) { throw UsageError(fault) }
    _ = try PeerAddress(Array(address.utf8))
    guard try !FileSystem.exists("\(words[1])/store.sqlite") else {
      throw ControlError(.exists, "\(words[1]) is a store already; \"llvs peer\" adds a peer to it")
    }
    let told = try make(words[1], from: address, named: name, line, console)
    console.reply(line, told.text, told.fields)
    guard words.count == 3 else { return .done }
    if try !FileSystem.exists(words[2]) { try FileSystem.makeDirectory(words[2]) }
    return try mount(
      CommandLine(["mount", words[1], words[2]] + (line.isQuiet ? ["-q"] : [])), console)
  }

  private static func make(
    _ path: String, from address: String, named name: String, _ line: CommandLine,
    _ console: Console
  ) throws -> Told {
    let isNew = try !FileSystem.exists(path)
    // Throws unless the directory is empty.
    let store = try Store.open(
      path: path, mode: .writer, create: true, isForced: line.has("force"))
    do {
      return try fill(store, from: address, named: name, line, console)
    } catch {
      // Everything in the new store came from the peer.
      try remove(path, isNew: isNew)
      throw error
    }
  }

  private struct Told {
    var text: String
    var fields: ReplyValue
  }

  private static func fill(
    _ store: Store, from address: String, named name: String, _ line: CommandLine,
    _ console: Console
  ) throws -> Told {
    if line.has("login") { try PeerLogin(store: store.path, name: name).run(address, console) }
    let service = try ControlService.open(store, opener: .besideMounts(own: nil))
    defer { service.hooks.finish() }
    func run(_ words: String...) throws {
      try service.run(words.map { Array($0.utf8) }, context: console.context)
    }
    if line.has("encrypt") { try openKeys(name, at: address, store, line, console) }
    try service.setPeer(name, address: Array(address.utf8))
    if line.has("encrypt") { try run("set", "\(name).encrypt=on") }
    try run("retrieve", name)
    let versions = Int(try store.state().lastNumber)
    guard versions > 0 else {
      throw ControlError(
        .notFound, "\(address) holds no versions; \"llvs init\" makes an empty store")
    }
    try run("merge")
    guard let head = try store.state().head, let record = try store.version(head) else {
      throw ControlError(
        .notFound, "\(address) holds no version of the unnamed branch to begin with")
    }
    let count = Int(clamping: record.map.count)
    let text =
      "\(store.path) holds \(versions) version\(versions == 1 ? "" : "s") of \(address); "
      + "now at \(record.name), with \(count) \(count == 1 ? "file or directory" : "files and directories")"
    return Told(
      text: text,
      fields: [
        "store": store.path, "peer": name, "address": address, "versions": versions,
        "head": record.name, "entries": count,
      ])
  }

  private static func remove(_ path: String, isNew: Bool) throws {
    guard try FileSystem.exists(path) else { return }
    if isNew { return try FileSystem.removeTree(path) }
    for name in try FileSystem.list(path) { try FileSystem.removeTree("\(path)/\(name)") }
  }
}
