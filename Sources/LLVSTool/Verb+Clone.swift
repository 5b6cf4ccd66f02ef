import Control
import Grammar
import LLVSCore
import LLVSMount
import Platform
import TreeNames

extension Verb {
  @Sendable static func clone(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.operands(2...3)
    let address = try wholeAddress(words[0])
    let name = line.options["name"] ?? "origin"
    if let fault = StoreName.fault(name) { throw UsageError(fault) }
    _ = try PeerAddress(Array(address.utf8))
    let told = try make(words[1], from: address, named: name, line, console)
    if let lacks = told.lacks {
      if line.isJSON {
        let failure: ReplyValue = [
          "ok": false, "error": ExitCode.damaged.word, "message": lacks,
          "code": Int(ExitCode.damaged.rawValue),
        ]
        console.tell(json: failure + told.fields + ["text": told.text])
      } else {
        console.say(told.text)
        console.complain("llvs: \(lacks).")
      }
    } else {
      console.reply(line, told.text, told.fields)
    }
    var code = ExitCode.done
    if words.count == 3 {
      if try !FileSystem.exists(words[2]) { try FileSystem.makeDirectory(words[2]) }
      code = try mount(
        CommandLine(["mount", words[1], words[2]] + (line.isQuiet ? ["-q"] : [])), console)
    }
    return code == .done && told.lacks != nil ? .damaged : code
  }

  /// The setting of a store that a clone is filling; another clone of the same address continues it.
  private static let unfinished = "clone.unfinished"

  private static func make(
    _ path: String, from address: String, named name: String, _ line: CommandLine,
    _ console: Console
  ) throws -> Told {
    let isNew = try !FileSystem.exists(path)
    let wasStore = try FileSystem.exists("\(path)/store.sqlite")
    if wasStore { try refuseOther(path, address) }
    // Throws unless the directory is empty.
    let store = try Store.open(
      path: path, mode: .writer, create: true, isForced: line.has("force"))
    do {
      try store.write { (transaction) throws(StoreError) in
        transaction.set(unfinished, to: Array(address.utf8))
      }
      let told = try fill(store, from: address, named: name, line, console)
      try store.write { (transaction) throws(StoreError) in transaction.set(unfinished, to: nil) }
      return told
    } catch {
      let versions = (try? store.state().lastNumber) ?? 0
      guard versions == 0 else {
        console.complain(
          "llvs: \(PrintableText.count(versions, "version")) got into \(path); the same command continues."
        )
        throw error
      }
      // All that the new store holds came from the peer.
      if !wasStore { try remove(path, isNew: isNew) }
      throw error
    }
  }

  /// Refuses a store that no interrupted clone of the same address has left.
  private static func refuseOther(_ path: String, _ address: String) throws {
    let store: Store
    do throws(StoreError) { store = try Store.open(path: path, mode: .reader) } catch {
      // It was stopped, or the disk was full, before the store was made.
      if case .notFound = error { return }
      throw error
    }
    let state = try store.state()
    if state.settings[unfinished] == Array(address.utf8) { return }
    // It was stopped before it began.
    if state.lastNumber == 0, state.settings[unfinished] == nil, try store.peers().isEmpty {
      return
    }
    let isClone = try store.peers().contains { $0.address == Array(address.utf8) }
    let advice =
      isClone ? "\"llvs sync\" in it gets what is new" : "\"llvs peer\" adds a peer to it"
    throw ControlError(.exists, "\(path) is a store already; \(advice)")
  }

  private struct Told {
    var text: String
    var fields: ReplyValue
    /// The versions that could not be read; nil if all were.
    var lacks: String?
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
    var (lacks, unreadable, notes) = try retrieve(name, service, console)
    let versions = Int(try store.state().lastNumber)
    guard versions > 0 else {
      if let lacks { throw ControlError(.damaged, "\(address): INCOMPLETE: \(lacks)") }
      throw ControlError(
        .notFound, "\(address) holds no versions; \"llvs init\" makes an empty store")
    }
    try run("merge")
    guard let record = try store.headRecord() else {
      throw ControlError(
        .notFound, "\(address) holds no version of the unnamed branch to begin with")
    }
    let count = Int(clamping: record.map.count)
    let forgotten = try store.forgottenVersions().count
    let newest = try store.versionsNewestFirst(before: nil, limit: 1).first?.name
    let all = versions + unreadable
    lacks = lacks.map { lacks in
      // "9 versions cannot be read ..." is "9 of 12 versions cannot be read ..." here.
      let rest = lacks.firstRange(of: " cannot").map { String(lacks[$0.lowerBound...]) } ?? ""
      let what = "\(unreadable) of \(PrintableText.count(all, "version"))\(rest)"
      return
        "INCOMPLETE: \(unreadable > 0 ? what : lacks); the newest that was read is "
        + "\(newest ?? record.name); \"llvs sync\" in the new store gets the rest when it is there again"
    }
    let text =
      "\(store.path) holds \(unreadable > 0 ? "\(versions) of " : "")\(PrintableText.count(all, "version")) "
      + "of \(address); now at \(record.name), with \(PrintableText.entries(count))"
      + (forgotten > 0
        ? "\n\(PrintableText.count(forgotten, "version")) came without bytes, which are forgotten there"
        : "")
      + notes.map { "\n\($0)" }.joined()
    return Told(
      text: text,
      fields: [
        "store": store.path, "peer": name, "address": address, "versions": versions,
        "head": record.name, "entries": count, "forgottenVersions": forgotten,
        "unreadable": unreadable, "newest": newest,
        "notes": notes,
      ], lacks: lacks)
  }

  /// Retrieves from the peer; returns what could not be read, in words and as a number of versions, and other notes.
  private static func retrieve(
    _ name: String, _ service: ControlService, _ console: Console
  ) throws -> (lacks: String?, unreadable: Int, notes: [String]) {
    let failure: ControlError
    do throws(ControlError) {
      let result = try service.run(
        ["retrieve", name].map { Array($0.utf8) }, context: console.context)
      let facts = result.text.split(separator: "\n").filter { $0.hasPrefix("\(name): ") }
      return (nil, 0, facts.dropFirst().map(String.init))
    } catch {
      failure = error
    }
    guard failure.kind == .damaged, case .list(let peers)? = failure.done?.fields["peers"],
      let peer = peers.first, case .number(let count)? = peer["unreadable"],
      case .text(let lacks)? = peer["incomplete"]
    else { throw failure }
    return (lacks, Int(count), [])
  }

  private static func remove(_ path: String, isNew: Bool) throws {
    guard try FileSystem.exists(path) else { return }
    if isNew { return try FileSystem.removeTree(path) }
    for name in try FileSystem.list(path) { try FileSystem.removeTree("\(path)/\(name)") }
  }
}
