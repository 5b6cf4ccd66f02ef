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
      options: [
        VerbOption("all", help: "all conflicts, wherever they are"),
        VerbOption("whole", help: "the whole file of one side"),
      ],
      help: """
        Closes conflicts at a path and below it, or all.
        Without a further word the tree stays as it is, as with ours. theirs takes the dropped lines or properties
        where both sides clash, and keeps all else from both (theirs.2 is the one before, as "llvs conflicts" names
        them). With --whole it takes the dropped file, and ours --whole the kept side's file. base is what both
        sides came from, VERSION what that has. "llvs undo" opens the conflicts again.
        """)
  ]

  let path: [UInt8]
  var settlement = Settlement.asIs
  /// True for the whole file of one side, false for what clashes.
  var isWhole = false

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    try service.settle(path, settlement, isWhole: isWhole, context)
  }
}

extension SettleCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    isWhole = arguments.takes("--whole")
    // The top of the tree means everything below it.
    guard let named = try arguments.takes("--all") ? [] : arguments.pathIfAny() else {
      throw arguments.misused("a path is missing")
    }
    path = named
    isWhole = arguments.takes("--whole") || isWhole
    settlement = Settlement(try arguments.textIfAny())
    isWhole = arguments.takes("--whole") || isWhole
    guard isWhole else { return }
    switch settlement {
    case .ours, .theirs: break
    default: throw arguments.misused("--whole takes ours or theirs")
    }
  }
}

extension ControlService {
  /// Settles the conflicts at a path and below it with a version that records them as settled.
  /// - Throws: `notFound` if there are none, or none with the requested side.
  package func settle(
    _ path: [UInt8], _ settlement: Settlement, isWhole: Bool = false,
    _ context: CommandContext = CommandContext()
  ) throws(ControlError) -> CommandResult {
    var source: ValueMap?
    if case .version(let word) = settlement { source = store.map(try version(word).map) }
    // Changes that were already written may have settled it.
    try cut()
    let group = FileGroup(around: Key(bytes: path)).members
    var named = try openConflicts(below: path)
    if named.isEmpty { named = try openConflicts().filter { group.contains($0.conflict.key) } }
    let shown = path.isEmpty ? "all" : String(decoding: path, as: UTF8.self)
    guard !named.isEmpty else {
      if path.isEmpty, try displacedValues(below: path).isEmpty {
        return CommandResult(
          "there are no conflicts",
          [
            "version": ReplyValue.null, "settled": ReplyValue.list([]),
            "unsaved": ReplyValue.list([]),
          ])
      }
      throw try noConflict(at: path)
    }
    for item in named {
      guard case .theirs(let number) = settlement else { continue }
      guard number <= item.conflict.theirs.count else {
        let name = String(decoding: item.path, as: UTF8.self)
        throw ControlError(
          .notFound,
          "\(name) has no \(ConflictTexts.name(ofTheirs: number - 1)): "
            + "there are \(item.conflict.theirs.count)")
      }
    }
    let (open, groups) = try withGroups(named)
    let arbitration = standardArbitration(context)
    let arbiter = arbitration.arbiter(store.graph)
    var lines: SettledLines?
    let outcome = try move(.settled(shown), context) { (transaction, head) throws(StoreError) in
      lines = nil
      guard let head, let record = try transaction.version(head) else { return head }
      let number = try transaction.reserveVersion()
      let base = ValueMap(
        root: record.map, storage: transaction.nodes, cache: self.store.nodeCache)
      var edits: [MapEdit] = []
      if case .theirs(let index) = settlement {
        for group in groups {
          guard let side = try self.side(index, of: group, open) else { continue }
          for key in group.members {
            let edit = try Self.edit(
              key, to: try self.usable(side.entry(at: key)), from: try base.entry(at: key),
              number, transaction)
            if let edit { edits.append(edit) }
          }
        }
      }
      for item in open {
        let wanted: Entry?
        switch settlement {
        case .asIs: continue
        case .ours where !isWhole: continue
        case .ours: wanted = try self.usable(self.keptFile(of: item.conflict))
        case .base: wanted = try self.usable(item.conflict.base)
        case .theirs where groups.contains { $0.members.contains(item.conflict.key) }: continue
        case .theirs(let index):
          let other = try self.usable(item.conflict.theirs[index - 1].entry)
          let mixed = try self.mixed(item.conflict, with: other, arbiter)
          if !isWhole, let base = arbitration.lacked.takeWanted().first {
            throw try self.lacksBase(base, item.path)
          }
          wanted = isWhole ? other : try mixed?.stored(transaction) ?? other
          if let mixed { lines = (lines ?? SettledLines()).adding(mixed, isWhole: isWhole) }
        case .version: wanted = try self.usable(source?.entry(at: item.conflict.key))
        }
        let edit = try Self.edit(
          item.conflict.key, to: wanted, from: try base.entry(at: item.conflict.key), number,
          transaction)
        if let edit { edits.append(edit) }
      }
      edits.sort(by: MapEdit.precedes)
      let map = try base.applying(edits: edits)
      return try transaction.add(
        AuthoredVersion(
          number: number, first: head, base: base, map: map, line: Self.branch(record.line),
          author: self.author, message: "settle \(shown)",
          metadata: [.settled: Version.MetadataValue(keys: open.map(\.conflict.key))])
      ).number
    }
    return settled(open.map(\.path), outcome, lines)
  }

  /// Returns an entry that a version may refer to; throws ``StoreError/forgotten(_:)`` if its bytes are forgotten.
  private func usable(_ entry: Entry?) throws(StoreError) -> Entry? {
    guard let entry, try !store.hasBytes(of: entry.stored) else { return entry }
    let path = PrintableText.text(TreeView.ownPath(entry.key))
    guard !entry.stored.isAbsent, let record = try store.version(entry.storedVersion) else {
      throw .forgotten("the bytes of \(path) were never received; nothing is settled")
    }
    throw .forgotten(
      "the bytes of \(path) \(try store.reasonForMissingBytes(of: record)); nothing is settled")
  }

  private func lacksBase(
    _ base: LackedValue, _ path: [UInt8]
  ) throws(StoreError) -> StoreError {
    let shown = PrintableText.text(path)
    let reason = try store.version(base.version).map { (record) throws(StoreError) in
      try store.reasonForMissingBytes(of: record, at: TreeView.ownPath(base.key))
    }
    return .forgotten(
      "the bytes of the common version of \(shown) \(reason ?? "were forgotten"), so the lines that clash are not "
        + "known; \"llvs settle --whole \(shown) theirs\" takes the whole file, \"llvs settle \(shown)\" keeps the "
        + "tree's; nothing is settled")
  }

  /// Returns conflicts with all others of their groups, and the groups that have a conflict at a companion.
  private func withGroups(
    _ named: [OpenConflict]
  ) throws(ControlError) -> (open: [OpenConflict], groups: [FileGroup]) {
    let all = try openConflicts()
    let keys = Set(named.map(\.conflict.key))
    let groups = Set(all.compactMap { FileGroup(companion: $0.conflict.key) })
      .filter { !keys.isDisjoint(with: $0.members) }
    let wanted = keys.union(groups.flatMap(\.members))
    return (all.filter { wanted.contains($0.conflict.key) }, Array(groups))
  }

  /// Returns the map of the newest version that changed a group on a dropped side.
  private func side(
    _ index: Int, of group: FileGroup, _ open: [OpenConflict]
  ) throws(StoreError) -> ValueMap? {
    let nodes = open.compactMap { item -> HistoryNode? in
      guard group.members.contains(item.conflict.key), index <= item.conflict.theirs.count
      else { return nil }
      return item.conflict.theirs[index - 1].version
    }
    guard let node = nodes.max(by: HistoryNode.isOlder),
      let record = try store.version(node.number)
    else { return nil }
    return store.map(record.map)
  }

  /// Bytes that settle a conflict, and those of both sides.
  private struct MixedValue {
    var other: Entry
    var bytes: [UInt8]
    var kept: [UInt8]
    var dropped: [UInt8]

    /// The dropped side's entry with the bytes.
    func stored(_ transaction: WriteTransaction) throws(StoreError) -> Entry {
      guard bytes != dropped else { return other }
      var entry = other
      entry.stored = try transaction.write(bytes)
      entry.attributes.mtime = .now
      return entry
    }
  }

  /// The numbers of lines that a settling changed, of all its files.
  private struct SettledLines {
    var taken = 0
    /// Lines of the tree that the other side's file lacks.
    var kept = 0
    var dropped = 0

    func adding(_ mixed: MixedValue, isWhole: Bool) -> SettledLines {
      var sum = self
      sum.taken += TextDiff.count(from: mixed.kept, to: mixed.bytes)
      let others = TextDiff.count(from: mixed.dropped, to: mixed.bytes)
      if isWhole { sum.dropped += others } else { sum.kept += others }
      return sum
    }

    var text: String {
      var parts = ["\(PrintableText.count(taken, "line")) of theirs"]
      if kept > 0 { parts.append("\(PrintableText.count(kept, "other line")) kept") }
      if dropped > 0 { parts.append("\(PrintableText.count(dropped, "other line")) dropped") }
      return parts.joined(separator: ", ")
    }

    var reply: ReplyValue { ["taken": taken, "kept": kept, "dropped": dropped] }
  }

  /// Returns the value in the tree with the dropped one's lines or properties where both clash; nil if they are
  /// taken whole.
  private func mixed(
    _ conflict: ValueConflict, with other: Entry?, _ arbiter: any ClashArbiter
  ) throws(StoreError) -> MixedValue? {
    guard let ours = conflict.ours, let other,
      let bytes = try arbiter.settling(
        conflict.key, base: conflict.base, kept: ours, with: other)
    else { return nil }
    return MixedValue(
      other: other, bytes: bytes,
      kept: try store.contents.bytes(ours.stored, atMost: UInt64(TextMerge.maximumLength)),
      dropped: try store.contents.bytes(other.stored, atMost: UInt64(TextMerge.maximumLength)))
  }

  /// Returns the value of the kept side before merges added anything to it.
  private func keptFile(of conflict: ValueConflict) throws(StoreError) -> Entry? {
    guard let node = try ConflictSides.maker(ofKept: conflict, in: store),
      let record = try store.version(node.number)
    else { return conflict.ours }
    return try store.map(record.map).entry(at: conflict.key)
  }

  private func noConflict(at path: [UInt8]) throws(ControlError) -> ControlError {
    let shown = String(decoding: path, as: UTF8.self)
    guard let value = try displacedValues(below: path).first else {
      return ControlError(
        .notFound, "there is no conflict at \(shown)")
    }
    let directory = String(decoding: value.directory, as: UTF8.self)
    return ControlError(
      .busy,
      "\(directory) is a file and a directory: rename or remove one of them, the file "
        + "under the name \(String(decoding: value.path, as: UTF8.self))")
  }

  private func settled(
    _ paths: [[UInt8]], _ outcome: CutOutcome, _ lines: SettledLines? = nil
  ) -> CommandResult {
    let name = outcome.head?.name ?? "-"
    log.add("settle", "\(name) \(Self.names(paths))")
    return CommandResult(
      "\(name) settled \(Self.names(paths))\(lines.map { ": \($0.text)" } ?? "")",
      ["version": name, "settled": paths, "unsaved": outcome.allUnsaved]
        + (lines?.reply ?? [:]))
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
      entry.attributes.mtime = .now
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
