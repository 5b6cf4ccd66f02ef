import Documents
import Grammar
import LLVSCore
import LLVSExchange
import Platform

/// A KeyValueCRDT document that is a peer: its values are the files of a directory.
///
/// New rows of the document become versions, which are merged like those of any peer; the head's values are written
/// into it (docs/documents.md, "What is read from a document" and "What is written to a document").
struct DocumentPeer: RemoteLayout {
  let address: DocumentAddress
  let authorName: String
  let memory: DocumentMemory
  /// True to accept a document that has nothing in common with the directory.
  var isUnrelatedAllowed = false
  /// The number of attempts to read a document while others write it.
  private static let attempts = 3
  /// The most times a day that a key is rewritten because a merge of the original restored old values.
  private static let rewritesADay = 3
  /// The most new authors that a merge of the original library accepts.
  private static let authorsOfOriginal = 1000

  func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    guard try isOnItsLine(store, &report) else { return report }
    report.isAsBefore = memory.isUntouched(address, store)
    if report.isAsBefore { return report }
    let main = try retrieve(address.path, into: store, &report)
    if main == nil {
      if try wasThere(store), try !Self.isThere(address.path) {
        throw .unreachable(
          "\(address.path) no longer exists; to write it again, create an empty file in its place"
        )
      }
      _ = try take(.empty, nil, address.path, into: store, &report)
    }
    for path in ConflictCopies.paths(of: address.path) {
      if control.isCancelled() { throw .cancelled }
      do throws(StoreError) {
        let isKnown = try retrieve(path, into: store, &report) == false
        if isKnown { report.notes.append("\(path) holds nothing more and can be removed") }
      } catch {
        report.notes.append("a copy was not read: \(ControlError(error).message)")
      }
    }
    return report
  }

  /// Imports new rows; returns true if there were any, nil for a document that was never written.
  private func retrieve(
    _ path: String, into store: Store, _ report: inout ExchangeReport
  ) throws(StoreError) -> Bool? {
    let file = try Self.translating(try DocumentFile.open(path))
    guard let file else { return nil }
    let document = try Self.translating(try file.snapshot())
    return try take(document, file.stamp, path, into: store, &report)
  }

  /// Imports the new rows of a read document; returns true if there were any.
  private func take(
    _ document: DocumentSnapshot, _ stamp: DocumentStamp?, _ path: String, into store: Store,
    _ report: inout ExchangeReport
  ) throws(StoreError) -> Bool {
    let head = try store.state().head
    let limits = RewriteLimits(
      try store.state().settings[RewriteLimits.settingName], most: Self.rewritesADay)
    let taken = try DocumentSync(store, address).take(
      document, at: head, line: try line(of: head, store), message: "from \(address.name)",
      allowingUnrelated: isUnrelatedAllowed, mayRewrite: limits.mayRewrite
    ) { transaction throws(StoreError) in
      if limits.hasChanged { transaction.set(RewriteLimits.settingName, to: limits.text) }
    }
    if let first = limits.held.min() {
      let name = String(
        decoding: address.directory.relativePath(of: first) ?? first.bytes, as: UTF8.self)
      let count = limits.held.count
      report.notes.append(
        "a program brings back old values of \(name)\(count > 1 ? " and \(count - 1) more" : "") "
          + "whenever it merges; they were rewritten \(Self.rewritesADay) times today and wait")
    }
    if let stamp, path == address.path, let comparison = taken.comparison {
      memory.keep(comparison, of: address, stamp)
    }
    for number in taken.versions { report.taken.append(try store.graph.node(number).id) }
    return taken.isNews
  }

  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    guard try isOnItsLine(store, &report), let head = try store.state().head else { return report }
    report.isAsBefore = memory.isUntouched(address, store)
    if report.isAsBefore { return report }
    for _ in 0..<Self.attempts {
      if control.isCancelled() { throw .cancelled }
      let outcome = try write(head, from: store, &report)
      guard outcome == .done else { continue }
      try noteThere(store)
      return report
    }
    throw .busy("\(address.path) changes while it is read")
  }

  private func write(
    _ head: VersionNumber, from store: Store, _ report: inout ExchangeReport
  ) throws(StoreError) -> DocumentWriter.Outcome {
    let file = try Self.translating(try DocumentFile.open(address.path))
    if file == nil, try wasThere(store), try !Self.isThere(address.path) {
      throw .unreachable(
        "\(address.path) no longer exists; to write it again, create an empty file in its place")
    }
    guard let outgoing = try outgoing(to: file, at: head, from: store) else {
      report.notes.append("\(address.name) holds news, which has to be retrieved and merged first")
      return .done
    }
    guard !outgoing.isRewriteFirst else {
      report.notes.append(
        "versions of plain LLVS have to be rewritten first, so that \(address.name) gets one author "
          + "for them; \"llvs sync\" does it")
      return .done
    }
    let export = outgoing.export
    if let skipped = export.skipped {
      let name = String(decoding: skipped.first, as: UTF8.self)
      report.notes.append(
        skipped.count == 1
          ? "\(name) has a name that no document can hold"
          : "\(skipped.count) files have names that no document can hold, the first is \(name)")
    }
    var stamp = file?.stamp
    if stamp == nil {
      stamp = try StoreError.translating(try DocumentStamp(path: address.path))
    }
    // The file must not be open while it is replaced.
    file?.close()
    let outcome = try Self.translating(
      try DocumentWriter(address.path, store, authorName: authorName).write(
        export, expecting: stamp))
    if outcome == .done {
      if export.authors.count > Self.authorsOfOriginal {
        report.notes.append(
          "\(export.authors.count) authors are new to \(address.name): programs with the original "
            + "library can open it, but not merge it into an open document")
      }
      if !export.isEmpty { report.sent = [try store.graph.node(head).id] }
      // The next reading finds the keys to rewrite.
      if !outgoing.isRewriteDue { memory.note(address, store) }
    }
    return outcome
  }

  private func outgoing(
    to file: DocumentFile?, at head: VersionNumber, from store: Store
  ) throws(StoreError) -> DocumentSync.Outgoing? {
    let sync = DocumentSync(store, address)
    guard let file else { return try sync.outgoing(to: .empty, at: head) }
    if let known = memory.takeComparison(of: address, file.stamp) {
      return try sync.outgoing(to: known, at: head, bytes: file.bytes(of:))
    }
    let document = try Self.translating(try file.snapshot())
    return try sync.outgoing(to: document, at: head)
  }

  private static func isThere(_ path: String) throws(StoreError) -> Bool {
    do throws(SystemError) { return try FileSystem.exists(path) } catch { throw .system(error) }
  }

  static func translating<R>(
    _ body: @autoclosure () throws(DocumentProblem) -> R
  ) throws(StoreError) -> R {
    do throws(DocumentProblem) { return try body() } catch { throw error.asStoreError }
  }

  private var settingName: String {
    let directory = address.directory.path.map { String($0, radix: 16) }.joined(separator: ".")
    return "document.\(address.path)#\(directory)"
  }

  private func line(of head: VersionNumber?, _ store: Store) throws(StoreError) -> Branch? {
    try head.flatMap { head throws(StoreError) in try store.graph.node(head).line }
  }

  private func lineName(_ store: Store) throws(StoreError) -> String {
    let line = try line(of: store.state().head, store)
    return line?.rawValue ?? VersionRecord.unnamedLine
  }

  /// A document belongs to the tree's line at the time of its first exchange.
  private func isOnItsLine(
    _ store: Store, _ report: inout ExchangeReport
  ) throws(StoreError) -> Bool {
    guard let own = try store.state().settings[settingName] else { return true }
    let name = String(decoding: own, as: UTF8.self)
    guard try name != lineName(store) else { return true }
    report.notes.append(
      "left alone, as it belongs to \(name == VersionRecord.unnamedLine ? "the unnamed branch" : name)"
    )
    return false
  }

  private func wasThere(_ store: Store) throws(StoreError) -> Bool {
    try store.state().settings[settingName] != nil
  }

  private func noteThere(_ store: Store) throws(StoreError) {
    guard try !wasThere(store) else { return }
    let name = try lineName(store)
    try store.write { transaction throws(StoreError) in
      transaction.set(settingName, to: Array(name.utf8))
    }
  }

  func verify(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    _ = try verify()
    return ExchangeReport()
  }

  /// Reads a document and checks its pages, tables and rows; returns the number of its values.
  func verify() throws(StoreError) -> Int {
    let document = try Self.translating(try DocumentFile.open(address.path)?.checked())
    guard let document else { throw .unreachable("\(address.path) is not there") }
    return document.entries.count { $0.type != .null }
  }
}
