import Documents
import LLVSCore
import LLVSExchange
import TestSupport
import Testing

/// A store of a history that is played, with the version that its live tree shows.
final class PlayedStore {
  private let directory: TemporaryDirectory
  private(set) var store: Store
  let world: PlayedWorld
  private(set) var head: VersionNumber
  private var seen: UInt32 = 0
  private var copyCount = 0

  init(_ world: PlayedWorld) throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try Store.open(path: directory.file("store"), create: true)
    self.world = world
    let root = try store.makeVersion(basedOnPredecessor: nil)
    world.known[root.id] = []
    head = try #require(try store.version(root.id)).number
    seen = head.rawValue
  }

  var state: DocumentState {
    get throws { try store.documents.state(of: PlayedKeys.directory, at: head) }
  }

  var headID: Version.ID { get throws { try store.graph.node(head).id } }

  func ancestors() throws -> [VersionNumber] {
    var open = [head]
    var found: Set<VersionNumber> = [head]
    while let next = open.popLast() {
      try store.graph.node(next).forEachPredecessor { before throws(StoreError) in
        if found.insert(before).inserted { open.append(before) }
      }
    }
    return found.sorted()
  }

  private func arbiter(_ graph: VersionGraph) -> any ClashArbiter {
    ContentArbiter(.automatic, graph, store.contents)
  }

  func lines(_ key: Int, at version: VersionNumber) throws -> [String]? {
    let record = try #require(try store.version(version))
    return try store.map(of: record).entry(at: PlayedKeys.key(key)).map {
      PlayedKeys.lines(try store.contents.bytes($0.stored))
    }
  }

  // MARK: What people do

  /// Writes keys in a version based on what the live tree shows, or on an older version.
  func write(_ changes: [Int: [String]?], on base: VersionNumber) throws {
    let id = try store.graph.node(base).id
    let made = try store.write { transaction throws(StoreError) in
      let record = try transaction.makeVersion(
        basedOn: .init(idOfFirst: id),
        storing: changes.map { key, lines in
          lines.map { .insert(Value(id: PlayedKeys.key(key), data: PlayedKeys.bytes($0))) }
            ?? .remove(PlayedKeys.key(key))
        })
      if base == self.head { self.head = record.number }
      try self.mergeHeads(transaction)
      return record
    }
    let known = world.known[id] ?? []
    var after = known
    let state = try store.documents.state(of: PlayedKeys.directory, at: made.number)
    for (key, lines) in changes {
      guard let live = state.keys[PlayedKeys.key(key)]?.live, live.count == 1,
        live[0].holder == made.number
      else { continue }
      let event = world.add(key, lines.map(Set.init), known: known)
      world.name(event, live[0].dot)
      after.insert(event)
    }
    world.known[made.id] = after
    try noteMade(from: nil)
  }

  private func mergeHeads(_ transaction: WriteTransaction) throws(StoreError) {
    let report = try transaction.mergeHeads(ofLine: nil, live: head, arbiter: arbiter)
    head = report.outcome ?? head
  }

  func exchange(with other: PlayedStore) throws {
    _ = try store.retrieve(from: StoreSource(other.store))
    try store.write { transaction throws(StoreError) in try self.mergeHeads(transaction) }
    try noteMade(from: nil)
  }

  // MARK: Backups

  /// A copy of the store's files, with what its live tree showed.
  struct Backup {
    fileprivate var path: String
    fileprivate var head: VersionNumber
    fileprivate var seen: UInt32
  }

  func backUp() throws -> Backup {
    store.settle()
    return Backup(path: try copy(of: store.path), head: head, seen: seen)
  }

  /// Goes on with a copy: what was written after it was made is gone here.
  func restore(_ backup: Backup) throws {
    store = try Store.open(path: try copy(of: backup.path), create: false)
    head = backup.head
    seen = backup.seen
  }

  private func copy(of path: String) throws -> String {
    copyCount += 1
    let target = directory.file("copy\(copyCount)")
    _ = try shell("cp -a '\(path)' '\(target)'", in: directory.path)
    return target
  }

  // MARK: Documents

  private var sync: DocumentSync {
    DocumentSync(store, DocumentAddress(path: "/document", directory: PlayedKeys.directory))
  }

  /// Exchanges with a document both ways; returns whether anything changed.
  func exchange(with document: PlayedDocument) throws -> Bool {
    let before = (head, document.content)
    var rounds = 0
    var compared: DocumentComparison.Remembered?
    while true {
      let taken = try sync.take(
        document.snapshot, at: head, line: nil, message: nil, allowingUnrelated: true)
      compared = compared ?? taken.comparison
      guard !taken.versions.isEmpty else { break }
      rounds += 1
      try #require(rounds < 10, "a document is taken again and again")
      try store.write { transaction throws(StoreError) in try self.mergeHeads(transaction) }
      try noteMade(from: taken.isNews ? document : nil)
    }
    let outgoing = try #require(try sync.outgoing(to: document.snapshot, at: head))
    let export = outgoing.export
    let again = try sync.outgoing(
      to: try #require(compared), at: head, bytes: document.snapshot.bytes)
    #expect(
      again.map { Self.text($0) } == Self.text(outgoing),
      "a comparison with an earlier version leads to something else")
    if !export.isEmpty {
      try document.apply(export, from: store, known: world.known[try headID] ?? [])
      let after = try #require(try sync.outgoing(to: document.snapshot, at: head)).export
      #expect(after.isEmpty, "a document that was written has to be written again")
    }
    return before.0 != head || before.1 != document.content
  }

  /// All that is to be written, as a text.
  private static func text(_ outgoing: DocumentSync.Outgoing) -> String {
    let export = outgoing.export
    return """
      \(outgoing.isRewriteDue) \(export.authors.map { "\($0.id) \($0.usn)" }) \
      \(export.values.map { "\($0.name) \($0.value.dot)" }) \(export.removals) \(export.notes)
      """
  }

  /// Notes what versions that were made since have seen, and what they wrote by themselves.
  private func noteMade(from document: PlayedDocument?) throws {
    while seen < store.lastNumber {
      seen += 1
      let node = try store.graph.node(VersionNumber(seen))
      guard world.known[node.id] == nil else { continue }
      var known: Set<Int> = []
      try node.forEachPredecessor { before throws(StoreError) in
        known.formUnion(world.known[try store.graph.node(before).id] ?? [])
      }
      let metadata = try store.metadata(ofVersion: node.number)
      if metadata[.document] != nil, let document { known.formUnion(document.content.known) }
      let state = try store.documents.state(of: PlayedKeys.directory, at: node.number)
      for key in 0..<PlayedKeys.count {
        guard let live = state.keys[PlayedKeys.key(key)]?.live,
          let own = live.first(where: { $0.holder == node.number && $0.type == nil }),
          world.event(key, own.dot) == nil
        else { continue }
        let lines = try lines(key, at: node.number).map(Set.init)
        let replaced =
          try node.second == nil
          ? known.filter { world.events[$0].key == key }
            .subtracting(leftOpen(key, by: node, with: lines))
          : replaced(key, byMerge: node)
        let event = world.add(key, lines, known: replaced, isMerged: node.second != nil)
        world.name(event, own.dot)
        known.insert(event)
      }
      world.known[node.id] = known
    }
  }

  private func shown(_ key: Int, at version: VersionNumber) throws -> DocumentKeyState? {
    try store.documents.state(of: PlayedKeys.directory, at: version).keys[PlayedKeys.key(key)]
  }

  /// What a value that is written anew leaves open: it replaces itself, and what was replaced already.
  private func leftOpen(
    _ key: Int, by node: HistoryNode, with lines: Set<String>?
  ) throws -> Set<Int> {
    let before = try node.first.flatMap { try shown(key, at: $0) }
    return Set(
      (before?.live ?? []).compactMap { world.event(key, $0.dot) }
        .filter { world.events[$0].lines != lines })
  }

  /// What a merge of texts replaces: the two that it was made of, and what their writers had seen. What else
  /// is open on either side has no line in it, and has to stay open.
  private func replaced(_ key: Int, byMerge node: HistoryNode) throws -> Set<Int> {
    var replaced: Set<Int> = []
    for before in [node.first, node.second].compactMap({ $0 }) {
      guard let held = try shown(key, at: before)?.held, let event = world.event(key, held)
      else { continue }
      replaced.formUnion(world.events[event].known.union([event]))
    }
    return replaced
  }
}
