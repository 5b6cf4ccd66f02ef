import Events
package import Grammar
import HistoryTree
package import LLVSCore
import TreeNames
import WorkingTree

/// The value that settling stores at a path.
package enum Settlement: Hashable, Sendable {
  /// The tree's current value.
  case asIs
  /// The working tree's side.
  case ours
  /// The n-th other side, counted from 1, as in the names in `conflicts`.
  case theirs(Int)
  case base
  case version(String)

  fileprivate init(_ word: String?) {
    switch word {
    case nil: self = .asIs
    case "ours": self = .ours
    case "theirs": self = .theirs(1)
    case "base": self = .base
    case let word?:
      if word.hasPrefix("theirs."), let number = Int(word.dropFirst(7)), number >= 2 {
        self = .theirs(number)
      } else {
        self = .version(word)
      }
    }
  }
}

struct SettleCommand: Command {
  static let forms = [
    CommandForm(
      "settle", "PATH|--all [ours|theirs|theirs.N|base|VERSION]", paths: 0..<1, .sides,
      options: [VerbOption("all", help: "all conflicts, wherever they are")],
      help: """
        Closes conflicts at a path and below it, or all.
        Without a further word the tree stays as it is, as with ours. theirs takes what was dropped (theirs.2 the
        one before, as "llvs conflicts" names them), base what both sides came from, VERSION what that has. So
        "llvs settle notes.txt theirs" takes the dropped side of one file, and "llvs settle --all" keeps
        everything. "llvs undo" opens them again.
        """)
  ]

  let path: [UInt8]
  var settlement = Settlement.asIs

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    try service.settle(path, settlement, context)
  }
}

extension SettleCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    // The top of the tree means everything below it.
    if arguments.takes("--all") {
      path = []
    } else {
      guard let first = try arguments.pathIfAny() else {
        throw arguments.misused("a path is missing")
      }
      path = first
    }
    settlement = Settlement(try arguments.textIfAny())
  }
}

extension ControlService {
  /// Settles the conflicts at a path and below it with a version that records them as settled.
  /// - Throws: `notFound` if there are none, or none with the requested side.
  package func settle(
    _ path: [UInt8], _ settlement: Settlement,
    _ context: CommandContext = CommandContext()
  ) throws(ControlError) -> CommandResult {
    var source: ValueMap?
    if case .version(let word) = settlement { source = store.map(try version(word).map) }
    // Changes that were already written may have settled it.
    try cut()
    let open = try openConflicts(below: path)
    let shown = path.isEmpty ? "all" : String(decoding: path, as: UTF8.self)
    guard !open.isEmpty else { throw try noConflict(at: path) }
    for item in open {
      guard case .theirs(let number) = settlement else { continue }
      guard number <= item.conflict.theirs.count else {
        let name = String(decoding: item.path, as: UTF8.self)
        throw ControlError(
          .notFound,
          "\(name) has no \(ConflictTexts.name(ofTheirs: number - 1)): "
            + "there are \(item.conflict.theirs.count)")
      }
    }
    let outcome = try move(.settled(shown), context) { (transaction, head) throws(StoreError) in
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
    return settled(open.map(\.path), outcome)
  }

  private func noConflict(at path: [UInt8]) throws(ControlError) -> ControlError {
    let shown = String(decoding: path, as: UTF8.self)
    guard let value = try displacedValues(below: path).first else {
      return ControlError(
        .notFound, path.isEmpty ? "there are no conflicts" : "there is no conflict at \(shown)")
    }
    let directory = String(decoding: value.directory, as: UTF8.self)
    return ControlError(
      .busy,
      "\(directory) is a file and a directory: rename or remove one of them, the file "
        + "under the name \(String(decoding: value.path, as: UTF8.self))")
  }

  private func settled(_ paths: [[UInt8]], _ outcome: CutOutcome) -> CommandResult {
    let name = outcome.head?.name ?? "-"
    log.add("settle", "\(name) \(Self.names(paths))")
    return CommandResult(
      "\(name) settled \(Self.names(paths))",
      ["version": name, "settled": paths, "unsaved": outcome.allUnsaved])
  }

  /// Stores bytes that a user made from the sides as the value at a path, and settles its conflict. They are a
  /// change of the version `seen`, by default the head, and are merged if the value has changed since.
  /// - Throws: `notFound` if the path does not exist.
  @discardableResult
  package func settle(
    _ path: [UInt8], with bytes: [UInt8], seen: VersionNumber? = nil,
    _ context: CommandContext = CommandContext()
  ) throws(ControlError) -> CommandResult {
    try cut()
    let shown = String(decoding: path, as: UTF8.self)
    guard let head = try headRecord() else {
      throw ControlError(.notFound, "there is no version yet")
    }
    let start = try translating { try self.start(of: path, seen: seen, head: head) }
    let outcome = try move(.settled(shown), context) { (transaction, now) throws(StoreError) in
      // Changes that were saved in the meantime are in a version of their own, which is merged.
      let base = ValueMap(
        root: start.record.map, storage: transaction.nodes, cache: self.store.nodeCache)
      var entry = start.entry
      entry.kind = .regular
      entry.stored = try transaction.write(bytes)
      entry.attributes.device = nil
      entry.attributes.mtime = TreeSession.now()
      let held = try base.entry(at: entry.key)
      guard start.isOpen || !Self.isSame(held, entry) else { return now }
      let number = try transaction.reserveVersion()
      let edit = try Self.edit(entry.key, to: entry, from: held, number, transaction)
      let made = try transaction.add(
        AuthoredVersion(
          number: number, first: start.record.number, base: base,
          map: try base.applying(edits: [edit].compactMap { $0 }),
          line: Self.branch(start.record.line), author: self.author, message: "settle \(shown)",
          metadata: start.isOpen
            ? [.settled: Version.MetadataValue(keys: [entry.key])] : [:]))
      guard let now, now != start.record.number else { return made.number }
      return try transaction.mergeSides(
        [now, made.number], live: now, arbiter: self.standardArbitration(context).arbiter
      ).outcome
    }
    return settled([path], outcome)
  }

  private struct SettleStart {
    var record: VersionRecord
    /// The entry at the path, or one that was dropped there.
    var entry: Entry
    var isOpen: Bool
  }

  private func start(
    of path: [UInt8], seen: VersionNumber?, head: VersionRecord
  ) throws(StoreError) -> SettleStart {
    let key = try TreeView(map: store.map(head.map)).key(forNewPath: path)
    var record = head
    if let seen, seen != head.number, try store.graph.isAncestorOrSelf(seen, of: head.number),
      let before = try store.version(seen),
      !Self.isSame(
        try store.map(before.map).entry(at: key), try store.map(head.map).entry(at: key))
    {
      record = before
    }
    let conflict = try store.openConflicts(at: record.number, where: { $0 == key })
      .first { $0.key == key }
    let held = try store.map(record.map).entry(at: key)
    guard let entry = held ?? conflict?.theirs.compactMap(\.entry).first else {
      throw .notFound("there is nothing at \(String(decoding: path, as: UTF8.self))")
    }
    return SettleStart(record: record, entry: entry, isOpen: conflict != nil)
  }

  private static func isSame(_ a: Entry?, _ b: Entry?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    return a.hasSameUnit(as: b)
  }

  /// Returns the edit that gives a key other bytes; the merged attributes stay.
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
    }
    // This version counts as the one that stored the bytes, so it wrote the key.
    entry.storedVersion = number
    entry.revision = try transaction.allotRevisions()
    return .put(entry)
  }
}
