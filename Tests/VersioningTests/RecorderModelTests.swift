import Foundation
import Inodes
import LLVSCore
import PendingTree
import Platform
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import RecordedTree
@testable import Versioning

/// Cuts of random work beside the plain model. Each failure names its seed; `LLVS_TEST_SEED` runs that one alone, and
/// `LLVS_TEST_LIVES` says how many run.
@Suite(.timeLimit(.minutes(10)))
struct RecorderModelTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 150)
  }()

  @Test("A cut of whatever programs did makes the versions that the model makes of it")
  func cuts() throws {
    for seed in Self.seeds {
      var work = try RecordedWork(seed: seed)
      do {
        try work.cut(seenBefore: false)
        try work.others()
        try work.cut(seenBefore: true)
      } catch {
        Issue.record("seed \(seed): \(error)\n\(work.log.joined(separator: "; "))")
      }
    }
  }
}

/// The rules that random work meets seldom.
@Suite
struct RecorderRuleTests {
  @Test("A directory without an entry gets one when the last name in it is removed")
  func emptied() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["d/x": 1, "e": 2])
    try work.cut(seenBefore: false) { life in
      let place = life.place("d/x")
      try life.perform(
        .unlink(place, of: life.number("d/x"), isKept: false),
        on: [life.number("d/x"), place.directory])
    }
    #expect(try work.headMap() == ["d/": .directory, "e": ModelValue(marks: [2])])
  }

  @Test(
    "A file that takes a directory's name leaves the value behind it under the name it is shown by")
  func displaced() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["a": 1, "a/x": 2])
    try work.cut(seenBefore: false) { life in
      let (file, directory) = (life.place("a/x"), life.place("a"))
      let numbers = [life.number("a/x"), life.number("a")]
      try life.perform(.unlink(file, of: numbers[0], isKept: false), on: numbers)
      try life.perform(.rmdir(directory, of: numbers[1]), on: numbers)
      try life.create("a", life.shown())
      try life.perform(.save(life.number("a")), on: [])
    }
    let made = try work.headMap()
    #expect(made["a"] == ModelValue(marks: [3]))
    #expect(made["%llvs%a"] == ModelValue(marks: [1]))
    #expect(made.count == 2)
  }

  @Test("The same bytes, written again, make no version")
  func sameBytes() throws {
    var work = try RecordedWork(seed: 1)
    try work.store(["f": 1])
    let before = try work.headMap()
    try work.cut(seenBefore: false) { life in
      let number = life.number("f")
      try life.perform(.resize(number, to: 0, [], seen: nil), on: [number])
      let extent = Extent(start: 0, length: Mark.length, offset: 0, source: 1)
      try life.perform(.write(number, extent, [], seen: nil), on: [number])
      try life.perform(.save(number), on: [])
    }
    #expect(try work.headMap() == before)
    #expect(work.versions == 1)
  }
}

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
  mutating func store(_ values: [String: Int]) throws {
    try store.makeVersion(
      basedOnPredecessor: nil,
      storing: values.map { key, mark in
        .insert(Value(id: Value.ID(bytes: Array(key.utf8)), data: Mark.bytes(mark)))
      })
    marks = values.values.max() ?? 0
    model.head = model.add(try headMap(), on: [0])
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
    var table = EpochTable(Epoch(2), showing: head)
    table.set(Epoch(1), to: before)
    let tree = try recordedTree(of: head)
    var life = Life(seed: seed, over: tree) { [store] in store.readable($0) }
    (life.marks, life.links) = (marks, links)
    life.overlay = Overlay(epoch: Epoch(2))
    life.image = life.overlay
    // The overlay's instant may be that of programs that all saw an older version.
    let isStale = seenBefore && random.chance(0.3)
    if isStale { table.set(Epoch(2), to: before) }
    if seenBefore { for path in life.shown().keys { life.lastSeen[path] = Epoch(1) } }
    try work(&life)
    log += life.log
    (marks, links) = (life.marks, life.links)
    _ = life.overlay.beginCut()
    let frozen = life.overlay
    let expected = try expected(frozen, tree, table, head)
    let made = try record(frozen, tree, table, head)
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
    var next: UInt64 = 2
    let numbers = NumberSource { count in
      defer { next += count }
      return next
    }
    let path = directory.file("tree-\(store.lastNumber).sqlite")
    let origin = RecordedTree.Origin(
      storeID: store.storeID,
      head: TreeHead(
        cut: Int64(store.lastNumber), version: try head.flatMap { try store.version($0)?.id },
        view: TreeView(map: map)),
      numbers: numbers, map: { _, _ in nil }, time: { _ in .zero }, now: .zero)
    return try RecordedTree.open(at: path, for: origin).tree
  }

  /// What the model makes of each group.
  private func expected(
    _ frozen: Overlay, _ tree: RecordedTree, _ table: EpochTable, _ head: VersionNumber?
  ) throws -> [ModelGroup: ModelMap] {
    let read: (StoredContent) -> [UInt8] = { [store] in store.readable($0) }
    var model = model
    model.head = Int(head?.rawValue ?? 0)
    var versions: [Epoch: Int] = [:]
    for epoch in table.epochs {
      versions[epoch] = Int(table.version(epoch, otherwise: nil)?.rawValue ?? 0)
    }
    let (record, groups) = ModelRecord(frozen, over: try ModelTree(tree, read: read), read: read)
      .grouped(model, versions)
    var result: [ModelGroup: ModelMap] = [:]
    for (group, items) in groups {
      result[group] = record.applied(items, to: model.maps[group.predecessor])
    }
    return result
  }

  private func record(
    _ frozen: Overlay, _ tree: RecordedTree, _ table: EpochTable, _ head: VersionNumber?
  ) throws -> CutVersions {
    let contents = MarkContents(store: store)
    let frozenTree = FrozenTree(frozen, over: tree)
    let ignored = IgnoreRules(IgnorePatterns([]), in: frozenTree) {
      contents.text(of: $0, atMost: IgnoreScope.fileLimit)
    }
    var recorder = Recorder(
      frozenTree, saves: SaveChoice(.command, settle: 2_000_000_000), ignored: ignored)
    let predecessors = Predecessors(store, head: head)
    let grouped = try GroupedRecording(
      try recorder.record(), of: frozenTree, table, on: predecessors)
    let writer = CutWriter(
      store, tree: frozenTree, contents: contents, maker: CutMaker(),
      helper: ForkJoin(name: "test"))
    return try store.write { (transaction) throws(StoreError) in
      try writer.write(grouped, on: predecessors, in: transaction)
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
