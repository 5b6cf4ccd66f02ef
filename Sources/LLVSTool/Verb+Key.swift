import Control
import Grammar
import LLVSCore
import ObjectStores
import Platform

// The tool itself asks for passphrases, because none may go through the control file of a mounted store.
extension Verb {
  @Sendable static func key(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let words = try line.operands(2...3)
    let (verb, name, third) = (words[0], words[1], words.count > 2 ? words[2] : nil)
    guard ["list", "open", "add", "remove", "rotate", "export"].contains(verb) else {
      throw UsageError("\"\(verb)\" is not list, open, add, remove, rotate or export")
    }
    let site = try CommandTarget(line)
    guard let peer = try site.reader().peers().first(where: { $0.name == name }) else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    if verb == "open" {
      guard third == nil else { throw UsageError("open takes no label") }
      let result = try encrypt(name, at: nil, site, line, console)
      console.reply(line, result.text, result.reply)
      return .done
    }
    let keys = try peerKeys(name, try PeerAddress(peer.address), site.reader(), line, console)
    let label = try third ?? PeerKeys.label(machine(site))
    let result: CommandResult
    switch verb {
    case "list": result = try keys.list()
    case "add": result = try keys.add(label: label, asking(line, console))
    case "remove":
      guard let third else { throw UsageError("remove needs the label of a passphrase") }
      result = try keys.remove(label: third)
    case "rotate": result = try keys.rotate(label: label, asking(line, console))
    default: result = try export(keys, to: third, site, line, console)
    }
    if verb == "list", !line.isJSON {
      console.tell(result.text)
    } else {
      console.reply(line, result.text, result.reply)
    }
    return .done
  }

  /// Gets or makes the key of a peer and sets it to be encrypted, before the peer gets its address.
  static func encrypt(
    _ name: String, at address: String?, _ site: CommandTarget, _ line: CommandLine,
    _ console: Console
  ) throws -> CommandResult {
    if let fault = StoreName.fault(name) { throw UsageError(fault) }
    let known = try site.reader().peers().first { $0.name == name }
    guard let bytes = address.map({ Array($0.utf8) }) ?? known?.address else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    let keys = try peerKeys(
      name, try PeerAddress(bytes), site.reader(), line, console, isNew: known == nil)
    let result = try keys.open(label: PeerKeys.label(machine(site)), asking(line, console))
    _ = try site.run(["set", "\(name).encrypt=on"], console)
    return result
  }

  /// Gets the keys of an encrypted place for a new store of its versions.
  /// - Throws: ``ControlError`` of kind `notFound` if the place is not encrypted.
  static func openKeys(
    _ name: String, at address: String, _ store: Store, _ line: CommandLine, _ console: Console
  ) throws {
    let keys = try peerKeys(name, try PeerAddress(Array(address.utf8)), store, line, console)
    let asking = asking(line, console)
    // A place without a key gets a new passphrase.
    _ = try keys.open(label: "") { (isNew) throws(ControlError) in
      guard !isNew else {
        throw ControlError(.notFound, "\(address) holds no versions, and no key of encrypted ones")
      }
      return try asking(false)
    }
  }

  private static func machine(_ site: CommandTarget) throws -> String {
    var faults: [String] = []
    return try StoreSettings(of: site.reader(), faults: &faults).machine
  }

  private static func peerKeys(
    _ name: String, _ address: PeerAddress, _ store: Store, _ line: CommandLine,
    _ console: Console, isNew: Bool = false
  ) throws -> PeerKeys {
    let context = console.context
    var opening = PeerOpening(
      name: name, store: store, transfer: TransferControl(isStopped: context.isCancelled))
    opening.isNew = isNew
    var keys = try PeerKeys(opening, at: address)
    if line.has("light") { keys.isLight = true }
    return keys
  }

  private static func export(
    _ keys: PeerKeys, to directory: String?, _ site: CommandTarget, _ line: CommandLine,
    _ console: Console
  ) throws -> CommandResult {
    guard let directory else { throw UsageError("export needs a directory to write to") }
    let files = try keys.export(label: PeerKeys.label(machine(site)), asking(line, console))
    if try !FileSystem.exists(directory) {
      try FileSystem.makeDirectory(directory, permissions: 0o700)
    }
    for file in files {
      try FileSystem.replace("\(directory)/\(file.name)", with: file.bytes, permissions: 0o600)
    }
    return CommandResult(
      files.map { "\(directory)/\($0.name)" }.joined(separator: "\n"),
      ["files": files.map { "\(directory)/\($0.name)" }])
  }

  /// Returns a function that gets passphrases from the environment, else from the terminal, twice for a new one.
  private static func asking(_ line: CommandLine, _ console: Console) -> PeerKeys.Asking {
    { (isNew) throws(ControlError) in
      if let given = try Passphrase.given(isGivenUp: console.context.isCancelled) { return given }
      guard StandardStream.input.isTerminal, StandardStream.error.isTerminal else {
        throw ControlError(
          .notPermitted,
          "a passphrase is needed and there is no terminal to ask for it: set LLVS_PASSPHRASE_FILE or "
            + "LLVS_PASSPHRASE_COMMAND")
      }
      let first = try typed(isNew ? "New passphrase: " : "Passphrase: ", console)
      guard isNew else { return first }
      guard try typed("The same once more: ", console) == first else {
        throw ControlError(.notPermitted, "the two are not the same, and nothing was changed")
      }
      return first
    }
  }

  private static func typed(_ prompt: String, _ console: Console) throws(ControlError) -> [UInt8] {
    console.ask(prompt)
    let typed = StandardStream.input.readHiddenLine()
    // Commands may turn Ctrl-C into a request; nothing here has to be finished first.
    if Interruption.isRequested { Interruption.end() }
    guard let text = typed, !text.isEmpty else {
      throw ControlError(.notPermitted, "no passphrase was typed")
    }
    return Array(text.utf8)
  }
}
