import Documents
import Grammar
import HistoryTree
import LLVSCore
import LLVSExchange
import Platform
import TreeNames
import WorkingTree

extension ControlService {
  func importing(
    _ command: ControlCommand.Import, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    switch command.source {
    case .document(let address):
      guard command.into.isEmpty, command.base == nil, command.message == nil else {
        throw ControlError(
          .grammar, "the directory of a document is in its address: kvcrdt:/FILE#DIRECTORY")
      }
      return try importDocument(address, isUnrelated: command.isUnrelated, context)
    case .directory(let path):
      guard !command.isUnrelated else {
        throw ControlError(.grammar, "\"unrelated\" is for documents")
      }
      return try importDirectory(path, command, context)
    }
  }

  /// Takes what a document says, once; it becomes no peer.
  private func importDocument(
    _ text: String, isUnrelated: Bool, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    let address: DocumentAddress
    do throws(StoreError) { address = try DocumentAddress(text) } catch {
      throw ControlError(error)
    }
    try cut()
    var peer = DocumentPeer(address: address, authorName: "", memory: documentMemory)
    peer.isUnrelatedAllowed = isUnrelated
    let control = ExchangeControl(isCancelled: context.isCancelled, progress: { _ in })
    let report = try translating { () throws(StoreError) in
      try peer.retrieve(into: store, control)
    }
    guard !report.taken.isEmpty else {
      return CommandResult("\(address.name) says nothing new", [ReplyField("versions", 0)])
    }
    let merged = try mergeHeads(context, standardArbitration(context))
    return CommandResult(
      "\(address.name) imported; \(merged.text)",
      [ReplyField("versions", report.taken.count)] + merged.fields)
  }

  /// Makes one version that holds the files of a directory too, and shows all of them at once.
  private func importDirectory(
    _ path: [UInt8], _ command: ControlCommand.Import, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    if let identity = command.identity {
      let status = try? FileSystem.status(path)
      guard let status, [status.device, status.inode] == identity else {
        throw ControlError(
          .notFound, "the mount does not see \(PrintableText.text(path)), as from a container")
      }
    }
    let base = try command.base.map { word throws(ControlError) in try version(word).number }
    try cut()
    var source = TreeImport(directory: path, prefix: command.into, ignoring: tree) { done in
      context.progress(CommandProgress("importing", done: done, total: 0))
    }
    let record = try translating { () throws(StoreError) in
      try source.run(
        through: self, base: base, message: command.message,
        arbiter: standardArbitration(context).arbiter)
    }
    let shown = PrintableText.text(path)
    let text =
      record.map { "\($0.name) holds \(source.count) entries of \(shown)" }
      ?? "nothing to import: the tree holds all of \(shown)"
    return CommandResult(
      text,
      [
        ReplyField("version", record.map { .text($0.name) } ?? .null),
        ReplyField("entries", source.count), ReplyField("leftOut", source.leftOut),
      ])
  }
}
