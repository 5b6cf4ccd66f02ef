package import LLVS

extension ControlService {
  /// An open conflict and where the tree shows it.
  package struct OpenConflict: Sendable {
    package var path: [UInt8]
    package var conflict: ValueConflict
  }

  /// The conflicts open at the head, in order of keys: at a path and below it, or all.
  package func openConflicts(below path: [UInt8] = []) throws(ControlError) -> [OpenConflict] {
    try translating { () throws(StoreError) in
      guard let head = try store.state().head, let record = try store.version(head) else {
        return []
      }
      let view = TreeView(map: store.map(record.map))
      var open: [OpenConflict] = []
      for conflict in try store.openConflicts(at: head) {
        let shown = try view.path(of: conflict.key)
        guard Self.isAtOrBelow(shown, path) else { continue }
        open.append(OpenConflict(path: shown, conflict: conflict))
      }
      return open
    }
  }

  static func isAtOrBelow(_ path: [UInt8], _ above: [UInt8]) -> Bool {
    above.isEmpty || path == above
      || path.count > above.count && path[above.count] == 0x2F && path.starts(with: above)
  }

  /// How many values have open conflicts.
  func countOpenConflicts() throws(ControlError) -> Int {
    try translating { () throws(StoreError) in
      guard let head = try store.state().head else { return 0 }
      return try store.openConflictKeys(at: head).count
    }
  }

  func conflicts(_ path: [UInt8]?) throws(ControlError) -> CommandResult {
    let open = try openConflicts(below: path ?? [])
    var lines: [String] = []
    var fields: [ReplyValue] = []
    for item in open {
      var names: [String] = []
      var theirs: [ReplyValue] = []
      if item.conflict.base != nil { names.append("base") }
      names.append(item.conflict.ours == nil ? "ours (removed)" : "ours")
      for (index, revision) in item.conflict.theirs.enumerated() {
        let name = Self.name(ofTheirs: index)
        names.append(revision.entry == nil ? "\(name) (removed)" : name)
        let record = try translating { () throws(StoreError) in
          try store.version(revision.version.number)
        }
        theirs.append(
          .record([
            ReplyField("name", name), ReplyField("version", record?.name ?? ""),
            ReplyField("isRemoval", .flag(revision.entry == nil)),
          ]))
      }
      let path = String(decoding: item.path, as: UTF8.self)
      lines.append("\(path): \(names.joined(separator: ", "))")
      fields.append(
        .record([
          ReplyField("path", path), ReplyField("hasBase", .flag(item.conflict.base != nil)),
          ReplyField("hasOurs", .flag(item.conflict.ours != nil)),
          ReplyField("theirs", .list(theirs)),
        ]))
    }
    return CommandResult(
      lines.isEmpty ? "no conflicts" : lines.joined(separator: "\n"),
      [ReplyField("conflicts", .list(fields))])
  }

  /// What a dropped revision is called: `theirs`, `theirs.2` and so on.
  static func name(ofTheirs index: Int) -> String {
    index == 0 ? "theirs" : "theirs.\(index + 1)"
  }

  // MARK: - Settling

  /// Closes the conflicts at a path and below it, by a version that says so.
  ///
  /// - Throws: `notFound` where there are none, or not what is asked for.
  package func settle(
    _ path: [UInt8], _ settlement: ControlCommand.Settlement,
    _ context: CommandContext = CommandContext()
  ) throws(ControlError) -> CommandResult {
    var source: ValueMap?
    if case .version(let word) = settlement { source = store.map(try version(word).map) }
    // What is written already may have settled it.
    try cut()
    let open = try openConflicts(below: path)
    let shown = String(decoding: path, as: UTF8.self)
    guard !open.isEmpty else { throw ControlError(.notFound, "there is no conflict at \(shown)") }
    for item in open {
      guard case .theirs(let number) = settlement else { continue }
      guard number <= item.conflict.theirs.count else {
        let name = String(decoding: item.path, as: UTF8.self)
        throw ControlError(
          .notFound,
          "\(name) has no \(Self.name(ofTheirs: number - 1)): "
            + "there are \(item.conflict.theirs.count)")
      }
    }
    let outcome = try move("settle \(shown)", context) { (transaction, head) throws(StoreError) in
      guard let head, let record = try transaction.version(head) else { return head }
      let number = try transaction.reserveVersion()
      let base = ValueMap(
        root: record.map, storage: transaction.nodes, cache: self.store.nodeCache)
      var edits: [MapEdit] = []
      for item in open {
        let wanted: Entry?
        switch settlement {
        case .asIs, .ours: continue
        case .base: wanted = item.conflict.base
        case .theirs(let index): wanted = item.conflict.theirs[index - 1].entry
        case .version: wanted = try source?.entry(at: item.conflict.key)
        }
        let edit = try Self.edit(
          item.conflict.key, to: wanted, from: try base.entry(at: item.conflict.key), number,
          transaction)
        if let edit { edits.append(edit) }
      }
      let map = try base.applying(edits: edits)
      return try transaction.add(
        AuthoredVersion(
          number: number, first: head, base: base, map: map, line: Self.branch(record.line),
          author: self.author, message: "settle \(shown)",
          metadata: [.settled: Version.MetadataValue(keys: open.map(\.conflict.key))])
      ).number
    }
    let name = outcome.head?.name ?? "-"
    let paths = open.map(\.path)
    log.add("settle", "\(name) \(Self.names(paths))")
    return CommandResult(
      "\(name) settled \(Self.names(paths))",
      [
        ReplyField("version", name), ReplyField("settled", paths),
        ReplyField("unsaved", outcome.unsaved),
      ])
  }

  /// The edit that gives a key other bytes; its attributes were merged already and stay.
  private static func edit(
    _ key: Key, to wanted: Entry?, from old: Entry?, _ number: VersionNumber,
    _ transaction: WriteTransaction
  ) throws(StoreError) -> MapEdit? {
    guard var entry = wanted else { return old == nil ? nil : .remove(key, directory: false) }
    if let old {
      if old.hasSameUnit(as: entry) { return nil }
      let (device, mtime) = (entry.attributes.device, entry.attributes.mtime)
      entry.attributes = old.attributes
      entry.attributes.device = device
      entry.attributes.mtime = mtime
      entry.inode = old.inode
    } else {
      entry.inode = try transaction.allotInodes()
    }
    // This version says that it stored the bytes, so it has written the key.
    entry.storedVersion = number
    entry.revision = try transaction.allotRevisions()
    return .put(entry)
  }
}
