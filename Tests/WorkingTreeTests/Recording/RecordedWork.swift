import Foundation
import Inodes
import LLVSCore
import Platform
import TestSupport
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Programs at work over a real store, and cuts of that.
struct RecordedWork {
  private let directory: TemporaryDirectory
  private let store: Store
  private var model = ModelStore()
  private let seed: UInt64
  private var random: SeededRandom
  private(set) var log: [String] = []
  private var marks = 0
  private var links = 0

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededRandom(seed: seed &+ 1_000_000)
    directory = try TemporaryDirectory(inMemory: true)
    store = try Store.open(path: directory.file("store"), create: true)
  }

  private var head: VersionNumber? { store.lastNumber == 0 ? nil : VersionNumber(store.lastNumber) }

  /// The number of versions.
  var versions: Int { Int(store.lastNumber) }

  private func map(_ version: VersionNumber?) throws -> ValueMap {
    store.map(try version.flatMap { try store.version($0) }?.map ?? .empty)
  }

  /// A version that somebody else makes of values at keys.
  mutating func store(_ values: [String: Int], on version: VersionNumber? = nil) throws {
    try store.makeVersion(
      basedOnPredecessor: try version.flatMap { try store.version($0)?.id },
      storing: values.map { key, mark in
        .insert(Value(id: Value.ID(bytes: Array(key.utf8)), data: Mark.bytes(mark)))
      })
    marks = values.values.max() ?? 0
    model.head = model.add(try headMap(), on: [0])
  }

  /// A version's first predecessor.
  func predecessor(of version: VersionNumber) throws -> VersionNumber? {
    try store.version(version)?.first
  }

  /// The entry that the newest version has at a key.
  func entry(_ key: String, isDirectory: Bool = false) throws -> Entry? {
    try map(head).entry(at: KeyCoding.key(ofPath: Array(key.utf8)), directory: isDirectory)
  }

  /// The newest version's map.
  func headMap() throws -> ModelMap { try store.modelMap(of: map(head)) }

  /// A version that somebody else makes on the head.
  mutating func others() throws {
    let before = try store.modelMap(of: map(head))
    var edited = before
    let life = Life(seed: seed &+ 7, over: ModelTree()) { _ in [] }
    var author = Others(random: life.random, marks: marks)
    for _ in 0..<4 { author.edit(&edited) }
    marks = author.marks
    var changes: [Value.Change] = []
    for (key, value) in edited where !value.isDirectory && before[key] != value {
      let id = Value.ID(bytes: KeyCoding.key(ofPath: Array(key.utf8)).bytes)
      changes.append(
        .insert(Value(id: id, data: value.marks.sorted().flatMap { Mark.bytes($0) })))
    }
    for (key, value) in before where !value.isDirectory && edited[key] == nil {
      changes.append(.remove(Value.ID(bytes: KeyCoding.key(ofPath: Array(key.utf8)).bytes)))
    }
    guard !changes.isEmpty, let head, let id = try store.version(head)?.id else { return }
    log.append("others change \(changes.map { $0.key.rawValue }.sorted())")
    try store.makeVersion(basedOnPredecessor: id, storing: changes)
    model.head = model.add(
      try store.modelMap(of: map(self.head)), on: [Int(head.rawValue)])
  }

  /// Programs work, and a cut takes it; some of them have last seen the version before the head.
  mutating func cut(
    seenBefore: Bool,
    doing work: (inout Life<RecordedTree>) throws -> Void = { life in
      for _ in 0..<30 { try life.act() }
    }
  ) throws {
    let head = head
    let before = head.map { $0.rawValue > 1 ? VersionNumber($0.rawValue - 1) : nil } ?? nil
    let epochs = [Epoch(2): head?.rawValue ?? 0, Epoch(1): before?.rawValue ?? 0]
    let tree = try recordedTree(of: head)
    var life = Life(seed: seed, over: tree) { [store] in store.readable($0) }
    (life.marks, life.links) = (marks, links)
    life.overlay = Overlay(epoch: Epoch(2))
    life.image = life.overlay
    if seenBefore { for path in life.shown().keys { life.lastSeen[path] = Epoch(1) } }
    try work(&life)
    log += life.log
    (marks, links) = (life.marks, life.links)
    _ = life.overlay.beginCut()
    let frozen = life.overlay
    let expected = try expected(frozen, tree, epochs, head)
    let made = try record(frozen, tree, epochs, head).made
    for (group, map) in expected.sorted(by: { $0.key < $1.key }) {
      let number = made.groups[
        EditGroup(
          on: group.predecessor == 0 ? nil : VersionNumber(UInt32(group.predecessor)),
          turn: group.turn)]
      let real = try number.map { try store.modelMap(of: self.map($0)) }
      let found = real ?? model.maps[group.predecessor]
      guard found == map else {
        let differing = Set(found.keys).union(map.keys).filter { found[$0] != map[$0] }
        let said = differing.sorted().map { key in
          "\(key): made \(found[key].map { "\($0)" } ?? "-"), model \(map[key].map { "\($0)" } ?? "-")"
        }
        throw LifeFault("on \(group): \(said)")
      }
    }
    let groups = Set(expected.keys.map { [$0.predecessor, $0.turn] })
    for group in made.groups.keys
    where !groups.contains([Int(group.predecessor?.rawValue ?? 0), group.turn]) {
      throw LifeFault("a version that the model does not make, on \(group)")
    }
    while model.maps.count <= Int(store.lastNumber) {
      let number = VersionNumber(UInt32(model.maps.count))
      let record = try store.version(number)
      model.head = model.add(
        try store.modelMap(of: map(number)),
        on: [record?.first, record?.second].compactMap { $0.map { Int($0.rawValue) } } + [0])
    }
  }

  private func recordedTree(of head: VersionNumber?) throws -> RecordedTree {
    let map = try map(head)
    let numbers = NumberSource(from: 2)
    let path = directory.file("tree-\(store.lastNumber).sqlite")
    let origin = RecordedTree.Origin(
      storeID: store.storeID,
      head: TreeHead(
        cut: Int64(store.lastNumber), version: try head.flatMap { try store.version($0)?.id },
        view: TreeView(map: map)),
      numbers: numbers, map: { _, _ in nil }, time: { _ in .zero }, now: .zero)
    return try RecordedTree.open(at: path, for: origin).tree
  }

  /// The maps that the model makes of each group.
  private func expected(
    _ frozen: Overlay, _ tree: RecordedTree, _ epochs: [Epoch: UInt32], _ head: VersionNumber?
  ) throws -> [ModelGroup: ModelMap] {
    let read: (StoredContent) -> [UInt8] = { [store] in store.readable($0) }
    var model = model
    model.head = Int(head?.rawValue ?? 0)
    let (record, groups) = ModelRecord(frozen, over: try ModelTree(tree, read: read), read: read)
      .grouped(model, epochs.mapValues { Int($0) })
    var result: [ModelGroup: ModelMap] = [:]
    for (group, items) in groups {
      result[group] = record.applied(items, to: model.maps[group.predecessor])
    }
    return result
  }

  /// Programs work, and a cut takes it, whatever the model would make of that; the first epoch is that of `seen`.
  ///
  /// - Returns: what the cut found, and what it made.
  mutating func take(
    ignoring patterns: String = "", withoutMarks damaged: Set<Int> = [],
    seeing seen: VersionNumber? = nil, doing work: (inout Life<RecordedTree>) throws -> Void
  ) throws -> (recording: Recording, made: CutVersions) {
    let head = head
    let tree = try recordedTree(of: head)
    var life = Life(seed: seed, over: tree) { [store] in store.readable($0) }
    (life.marks, life.links) = (marks, links)
    life.overlay = Overlay(epoch: Epoch(2))
    try work(&life)
    (marks, links) = (life.marks, life.links)
    _ = life.overlay.beginCut()
    var epochs = [Epoch(2): head?.rawValue ?? 0]
    if let seen { epochs[.first] = seen.rawValue }
    return try record(
      life.overlay, tree, epochs, head, ignoring: patterns, withoutMarks: damaged)
  }

  /// Cuts, and cuts again without what cannot be read.
  private func record(
    _ frozen: Overlay, _ tree: RecordedTree, _ epochs: [Epoch: UInt32], _ head: VersionNumber?,
    ignoring patterns: String = "", withoutMarks damaged: Set<Int> = []
  ) throws -> (recording: Recording, made: CutVersions) {
    let contents = MarkContents(store: store, damaged: damaged)
    let frozenTree = FrozenTree(frozen, over: tree)
    let ignored = IgnoreRules(IgnorePatterns(Array(patterns.utf8)), in: frozenTree) {
      contents.text(of: $0, atMost: IgnoreScope.fileLimit)
    }
    var saves = SaveChoice(.command, settle: 2_000_000_000)
    let predecessors = Predecessors(store, head: head)
    while true {
      var recorder = Recorder(frozenTree, saves: saves, ignored: ignored)
      let recording = try recorder.record()
      let grouped = try GroupedRecording(
        recording, of: frozenTree, EpochTable(epochs), on: predecessors)
      let writer = CutWriter(
        store, tree: frozenTree, contents: contents, maker: CutMaker(),
        helper: ForkJoin(name: "test"))
      do throws(StoreError) {
        let made = try store.write { (transaction) throws(StoreError) in
          try writer.write(grouped, on: predecessors, in: transaction)
        }
        return (recording, made)
      } catch {
        guard let failed = writer.failed,
          !(saves.unreadable[failed.number] ?? []).contains(failed.content)
        else { throw error }
        saves.unreadable[failed.number, default: []].append(failed.content)
      }
    }
  }
}

/// Somebody who changes values elsewhere.
private struct Others {
  var random: SeededRandom
  var marks: Int

  mutating func edit(_ map: inout ModelMap) {
    let files = map.keys.filter { !$0.hasSuffix("/") && map[$0]?.link == nil }.sorted()
    let above = ([""] + map.directories.sorted()).randomElement(using: &random) ?? ""
    marks += 1
    if random.chance(0.4) {
      let path = ModelPath.join(
        above, ["a", "b", "c", "d", "e"].randomElement(using: &random) ?? "a")
      if map[path] == nil { map[path] = ModelValue(marks: [marks]) }
    } else if let file = files.randomElement(using: &random) {
      if random.chance(0.6) { map[file]?.marks.insert(marks) } else { map[file] = nil }
    }
  }
}
