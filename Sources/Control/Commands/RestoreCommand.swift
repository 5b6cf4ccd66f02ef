import Events
import Grammar
import HistoryTree
import LLVSCore
import TreeNames
import WorkingTree

/// Restores some paths, or without any the whole tree, from a version.
struct RestoreCommand: Command {
  static let forms = [
    CommandForm(
      "restore", "VERSION [PATH...]", paths: 1..<Int.max, .versionsAndPaths,
      help: """
        Brings back a file, a directory or everything as a version has it.
        "llvs restore at/yesterday notes.txt" brings back one file, "llvs restore V" the whole tree. A database
        comes with its files -wal and -journal. It makes a new version; what was there before stays in history, and
        "llvs undo" takes it back.
        """),
    CommandForm(
      "revert", "VERSION [PATH...]", paths: 1..<Int.max, .versionsAndPaths,
      help: "The same as restore."),
  ]

  let version: String
  var paths: [[UInt8]] = []
  var title: String { "restore \(version)" }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let source = try service.version(version)
    try service.checkPaths(paths, in: source)
    try service.cut()
    let note = try service.store.noteOnTime(in: version)
    func noted(_ text: String, _ fields: ReplyValue) -> (String, ReplyValue) {
      note.map { ("\(text)\n\($0)", fields + ["note": $0]) } ?? (text, fields)
    }
    do {
      let restored = try service.restore(
        source, paths, reason: .restore(version: source.name), context)
      let (text, reply) = noted(restored.text, restored.reply)
      return CommandResult(text, reply)
    } catch var error as ControlError {
      if let done = error.done {
        let (text, fields) = noted(done.text, done.fields)
        error.done = ControlError.Done(text: text, fields: fields)
      } else if let note {
        error = ControlError(error.kind, "\(error.message); \(note)")
      }
      throw error
    }
  }
}

extension RestoreCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    version = try arguments.text("a version")
    paths = try arguments.remainingPaths()
  }
}

extension ControlService {
  /// Throws unless every path is in the version or in the tree.
  fileprivate func checkPaths(_ paths: [[UInt8]], in source: VersionRecord) throws {
    let views = [source, try headRecord()].compactMap(\.self).map {
      TreeView(map: store.map(of: $0))
    }
    for path in paths where !path.isEmpty {
      guard try views.contains(where: { try $0.find(path: path) != nil }) else {
        let name = String(decoding: path, as: UTF8.self)
        throw ControlError(.notFound, "\(source.name) has no \(name), nor has the tree")
      }
    }
  }

  /// The most paths that a reply names.
  private static let namesTold = 3

  /// Makes a version with another's contents, at some paths or whole; `withConflicts` also restores its conflicts.
  func restore(
    _ source: VersionRecord, _ paths: [[UInt8]] = [], reason: HeadReason, message: String? = nil,
    withConflicts: Bool = false, _ context: CommandContext
  ) throws -> CommandResult {
    var counts = (new: 0, changed: 0, removed: 0)
    var names: [[UInt8]] = []
    var missing = MissingBytes(store)
    let conflicts = withConflicts ? try conflictChanges(of: source) : ConflictChanges()
    let outcome = try move(reason, context) { (transaction, head) throws(StoreError) in
      guard let head, let record = try transaction.version(head) else {
        // The tree has no version yet: it continues from the restored version itself.
        try self.requireBytes(of: source)
        return source.number
      }
      let number = transaction.nextVersion
      let base = self.store.map(record.map)
      var restoration = Restoration(
        store: self.store, transaction: transaction, number: number, paths: paths,
        isCancelled: context.isCancelled)
      let edits = try restoration.edits(from: base, to: source)
      missing = restoration.missing
      guard !edits.isEmpty || !conflicts.isEmpty else { return head }
      for edit in edits {
        let old = try base.entry(at: edit.key, directory: edit.isDirectory)
        if names.count <= Self.namesTold, !edit.isDirectory {
          names.append(TreeView.ownPath(edit.key))
        }
        switch edit {
        case .remove: counts.removed += 1
        case .put: if old == nil { counts.new += 1 } else { counts.changed += 1 }
        }
      }
      let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
        .applying(edits: edits)
      let line = Self.branch(record.line)
      let text = message ?? reason.text
      let made = try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head, base: base, map: map,
          line: line, author: self.author, message: text, metadata: conflicts.metadata)
      ).number
      // At a document's key several versions must write values to open a conflict.
      var live = made
      for other in try transaction.addValues(conflicts.values, on: head, line: line) {
        live =
          try transaction.merge(
            other, into: live, line: line, author: self.author, message: text
          ) { _ in OneSideClashArbiter(.first) }.outcome ?? live
      }
      return live
    }
    let count = counts.new + counts.changed + counts.removed
    /// A file without bytes stays as the tree has it.
    func ended(_ result: CommandResult) throws -> CommandResult {
      guard missing.count > 0 else { return result }
      var error = missing.error()
      error.done = ControlError.Done(text: result.text, fields: result.reply)
      throw error
    }
    guard count > 0 || !conflicts.isEmpty else {
      return try ended(
        CommandResult(
          missing.count > 0
            ? "nothing is restored" : "nothing to restore: the tree is as \(source.name)",
          ["version": ReplyValue.null, "source": source.name, "changed": 0, "new": 0, "removed": 0])
      )
    }
    let name = outcome.head?.name ?? "-"
    let opened = !conflicts.opens ? "" : ", conflicts are open again"
    let parts = [(counts.changed, "changed"), (counts.new, "new"), (counts.removed, "removed")]
      .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let told = names.isEmpty ? "" : ": \(Self.names(names, atMost: Self.namesTold))"
    let changes = ChangeSummary.text(
      of: outcome.head, in: self.store,
      or: (parts.isEmpty ? ["nothing changed"] : parts).joined(separator: ", ") + told)
    log.add("restore", "\(name) as \(source.name), \(changes)\(opened)")
    return try ended(
      CommandResult(
        "\(name) as \(source.name), \(changes)\(opened)",
        [
          "version": name, "source": source.name, "changed": counts.changed, "new": counts.new,
          "removed": counts.removed, "unsaved": outcome.allUnsaved,
        ]))
  }

  /// Throws if the head would get a file without its bytes.
  func requireBytes(of record: VersionRecord) throws(StoreError) {
    let head = try store.headRecord()
    guard let key = try store.firstWithoutBytes(in: record, unlike: store.map(of: head)) else {
      return
    }
    let path = PrintableText.text(try TreeView(map: store.map(of: record)).path(of: key))
    let reason = try store.reasonForMissingBytes(
      of: record, at: TreeView(map: store.map(of: record)).path(of: key))
    throw .forgotten(
      "the bytes of \(path) in \(record.name) \(reason); \"llvs restore\" brings back the files that are left"
    )
  }

  /// Collects the metadata that reopens the conflicts of another version in a version made on the head.
  private struct ConflictChanges {
    var metadata: Version.Metadata = [:]
    /// The values of documents to write in addition to the version's own.
    var values: [(key: Key, values: [Entry?])] = []

    var isEmpty: Bool { metadata.isEmpty }
    var opens: Bool { metadata[.reopened] != nil || !values.isEmpty }
  }

  private func conflictChanges(of source: VersionRecord) throws -> ConflictChanges {
    guard let head = try store.state().head else { return ConflictChanges() }
    let directories =
      try store.documentDirectories(at: head) + store.documentDirectories(at: source.number)
    func isDocuments(_ key: Key) -> Bool { directories.contains { $0.contains(key) } }
    let opened = try store.settledDrops(at: head, since: source.number)
      .filter { !isDocuments($0.key) }
    var closed = try store.settledDrops(at: source.number, since: head).map(\.key)
      .filter { !isDocuments($0) }
    closed += try store.documentConflicts(openAt: head, notAt: source.number).map(\.key)
    var changes = ConflictChanges()
    for conflict in try store.documentConflicts(openAt: source.number, notAt: head) {
      changes.values.append((conflict.key, conflict.theirs.map(\.entry)))
    }
    // A rewritten value replaces the value that settled the conflict.
    closed += changes.values.map(\.key)
    if !opened.isEmpty { changes.metadata[.reopened] = Version.MetadataValue(reopened: opened) }
    if !closed.isEmpty { changes.metadata[.settled] = Version.MetadataValue(keys: closed) }
    return changes
  }
}

/// The edits that turn a map into another, as changes of the new version.
private struct Restoration {
  let store: Store
  let transaction: WriteTransaction
  let number: VersionNumber
  let paths: [[UInt8]]
  let isCancelled: @Sendable () -> Bool
  var revisions: Range<UInt64> = 0..<0
  private(set) var missing: MissingBytes

  init(
    store: Store, transaction: WriteTransaction, number: VersionNumber, paths: [[UInt8]],
    isCancelled: @escaping @Sendable () -> Bool
  ) {
    self.store = store
    self.transaction = transaction
    self.number = number
    self.paths = paths
    self.isCancelled = isCancelled
    missing = MissingBytes(store)
  }

  mutating func edits(
    from base: ValueMap, to record: VersionRecord
  ) throws(StoreError) -> [MapEdit] {
    let source = store.map(of: record)
    var edits: [MapEdit] = []
    var torn: Set<FileGroup> = []
    let (before, after) = (TreeView(map: base), TreeView(map: source))
    var diff = try MapDiff(from: base, to: source, comparing: .content)
    while let change = try diff.next() {
      if edits.count % 1024 == 0, isCancelled() { throw .cancelled }
      if !paths.isEmpty {
        let path = try (change.new == nil ? before : after).path(of: change.key)
        if !paths.contains(where: { PathFilter.isAtOrBelow(path, $0) }) {
          guard try isOfGroup(path, base, source) else { continue }
        }
      }
      guard var entry = change.new else {
        edits.append(.remove(change.key, directory: change.isDirectory))
        continue
      }
      let old = change.old
      if let old, old.kind == entry.kind, old.stored.digest == entry.stored.digest,
        old.stored.length == entry.stored.length
      {
        entry.stored = old.stored
        entry.storedVersion = old.storedVersion
      } else {
        guard let stored = try usable(entry.stored) else {
          try missing.add(after.path(of: entry.key), of: record)
          torn.insert(FileGroup(around: entry.key))
          continue
        }
        entry.stored = stored
        // The entry must not refer to the other version: this version counts as the one that stored the bytes.
        entry.storedVersion = number
      }
      entry.revision = try nextRevision()
      edits.append(.put(entry))
    }
    guard !torn.isEmpty else { return edits }
    // A part of a database fits one state of it alone (docs/merging.md, M9).
    var fitting: [MapEdit] = []
    for edit in edits {
      if edit.isDirectory || !torn.contains(FileGroup(around: edit.key)) {
        fitting.append(edit)
      } else {
        missing.addPart(try after.path(of: edit.key))
      }
    }
    return fitting
  }

  /// Returns a value that the new version may have; nil without its bytes. Forgotten bytes that can be read are stored
  /// again.
  private func usable(_ stored: StoredContent) throws(StoreError) -> StoredContent? {
    if try store.hasBytes(of: stored) { return stored }
    do throws(StoreError) {
      return try transaction.write(StoredSource(stored, in: store.contents))
    } catch {
      guard error.isForgotten else { throw error }
      return nil
    }
  }

  /// True for a file of a group that contains a wanted one (docs/merging.md, M9).
  private func isOfGroup(
    _ path: [UInt8], _ base: ValueMap, _ source: ValueMap
  ) throws(StoreError) -> Bool {
    let group = FileGroup(around: Key(bytes: path)).members
    guard group.contains(where: { paths.contains($0.bytes) }) else { return false }
    let isNamed = paths.contains(group[0].bytes)
    for map in isNamed ? [base, source] : [source] {
      if try map.entry(at: group[0]) != nil { return true }
    }
    return false
  }

  private mutating func nextRevision() throws(StoreError) -> UInt64 {
    if revisions.isEmpty {
      let first = try transaction.allotRevisions(1024)
      revisions = first..<(first + 1024)
    }
    return revisions.removeFirst()
  }
}
