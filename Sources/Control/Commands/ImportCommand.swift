import Documents
import Grammar
import LLVSCore
import LLVSExchange
import Platform
import TreeNames

/// Adds a document, or a directory from outside, to the tree.
struct ImportCommand: Command {
  static let forms = [
    CommandForm(
      "import",
      "/DIRECTORY|kvcrdt:/FILE#DIRECTORY [into PATH] [on VERSION] [unrelated] [as MESSAGE] "
        + "[same DEVICE:INODE]")
  ]

  enum Source: Hashable {
    /// A KeyValueCRDT document: `kvcrdt:/PATH#DIRECTORY`.
    case document(String)
    case directory([UInt8])
  }

  let source: Source
  /// The target directory in the tree; empty for its top.
  var into: [UInt8] = []
  /// Nil for the head.
  var base: String?
  /// The caller's device and inode of the directory, which another container may see differently; else nil.
  var identity: [UInt64]?
  var message: String?
  var isUnrelated = false

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    switch source {
    case .document(let address):
      guard into.isEmpty, base == nil, message == nil else {
        throw ControlError(
          .grammar, "the directory of a document is in its address: kvcrdt:/FILE#DIRECTORY")
      }
      return try service.importDocument(address, isUnrelated: isUnrelated, context)
    case .directory(let path):
      guard !isUnrelated else { throw ControlError(.grammar, "\"unrelated\" is for documents") }
      return try service.importDirectory(path, self, context)
    }
  }

  init(_ arguments: inout Arguments) throws(ControlError) {
    guard let first = arguments.takeFirst() else {
      throw arguments.misused("what to import is missing")
    }
    if first.starts(with: "kvcrdt:".utf8) {
      guard let address = String(validating: first, as: UTF8.self) else {
        throw arguments.misused("an address that is not UTF-8")
      }
      source = .document(address)
    } else if first.first == UInt8(ascii: "/") {
      source = .directory(first)
    } else {
      throw arguments.misused("a directory is named by its absolute path")
    }
    while let word = try arguments.textIfAny() {
      switch word {
      case "into": into = try arguments.pathIfAny() ?? []
      case "on": base = try arguments.text("a version")
      case "unrelated": isUnrelated = true
      case "as": message = try arguments.text("a message")
      case "same":
        let numbers = try arguments.text("a device and an inode").split(separator: ":")
          .map { UInt64($0) }
        guard numbers.count == 2, let device = numbers[0], let inode = numbers[1] else {
          throw arguments.misused("\"same\" is followed by DEVICE:INODE")
        }
        identity = [device, inode]
      default: throw arguments.misused("\"\(word)\" is one word too many")
      }
    }
  }
}

extension ControlService {
  /// Imports a document once; it becomes no peer.
  fileprivate func importDocument(
    _ text: String, isUnrelated: Bool, _ context: CommandContext
  ) throws -> CommandResult {
    let address = try DocumentAddress(text)
    try cut()
    var peer = DocumentPeer(address: address, authorName: "", memory: documentMemory)
    peer.isUnrelatedAllowed = isUnrelated
    let control = ExchangeControl(isCancelled: context.isCancelled, progress: { _ in })
    let report = try peer.retrieve(into: store, control)
    guard !report.taken.isEmpty else {
      return CommandResult("\(address.name) says nothing new", ["versions": 0])
    }
    let merged = try mergeHeads(context, standardArbitration(context)).asCommandResult
    return CommandResult(
      "\(address.name) imported; \(merged.text)",
      ["versions": report.taken.count] + merged.reply)
  }

  /// Makes one version with the files of a directory, and shows all of them at once.
  fileprivate func importDirectory(
    _ path: [UInt8], _ command: ImportCommand, _ context: CommandContext
  ) throws -> CommandResult {
    if let identity = command.identity {
      let status = try? FileSystem.status(path)
      guard let status, [status.device, status.inode] == identity else {
        throw ControlError(
          .notFound, "the mount does not see \(PrintableText.text(path)), as from a container")
      }
    }
    let base = try command.base.map { try version($0).number }
    try cut()
    var source = TreeImport(
      directory: path, prefix: command.into, ignoring: tree, isCancelled: context.isCancelled
    ) { done, total in
      context.progress(CommandProgress("importing", bytes: done, of: total))
    }
    let record: VersionRecord?
    do throws(StoreError) {
      record = try source.run(
        through: self, base: base, message: command.message,
        arbiter: standardArbitration(context).arbiter)
    } catch {
      if case .cancelled = error { throw source.interruption }
      throw error
    }
    let shown = PrintableText.text(path)
    let text =
      record.map { "\($0.name) holds \(PrintableText.entries(source.count)) of \(shown)" }
      ?? "nothing to import: the tree holds all of \(shown)"
    return CommandResult(
      text, ["version": record?.name, "entries": source.count, "leftOut": source.leftOut])
  }
}
