import Documents
import LLVSCore
import TestSupport

/// A random history of stores, documents and phones, and what is wrong at its end.
struct PlayedHistory {
  struct Shape: CustomStringConvertible {
    var stores = 2
    var documents = 2
    var phones = 2
    var steps = 40
    /// True if phones merge as the original does.
    var mergesAsOriginal = true
    /// True if stores are set back to copies of themselves.
    var setsBack = false

    var description: String {
      "\(stores) stores, \(documents) documents, \(phones) phones"
        + (mergesAsOriginal ? "" : " with this library") + (setsBack ? ", set back" : "")
    }
  }

  private let shape: Shape
  private var random: SeededRandom
  private let world = PlayedWorld()
  private let stores: [PlayedStore]
  private let documents: [PlayedDocument]
  private let phones: [PlayedDocument]
  private var sessions: [Int]
  private var isDirty: [Bool]
  private var peers: [[Int]] = []
  private var places: [Int] = []
  private var backups: [(Int, PlayedDocument.Content)] = []
  private var storeBackups: [(Int, PlayedStore.Backup)] = []
  private var dead: [[Int: Set<DocumentDot>]]
  private var last: [[Int: Set<DocumentDot>]]
  private(set) var faults: [String] = []

  init(_ shape: Shape, seed: UInt64) throws {
    self.shape = shape
    random = SeededRandom(seed: seed)
    let world = world
    stores = try (0..<shape.stores).map { _ in try PlayedStore(world) }
    documents = (0..<shape.documents).map { _ in PlayedDocument() }
    phones = (0..<shape.phones).map { _ in PlayedDocument() }
    sessions = Array(repeating: 0, count: shape.phones)
    isDirty = Array(repeating: false, count: shape.phones)
    dead = Array(repeating: [:], count: shape.stores)
    last = dead
    for _ in stores {
      let chosen = (0..<shape.documents).filter { _ in chance(0.7) }
      peers.append(chosen.isEmpty ? [pick(shape.documents)] : chosen)
    }
    for index in 0..<shape.documents where !peers.contains(where: { $0.contains(index) }) {
      peers[pick(shape.stores)].append(index)
    }
    places = (0..<shape.phones).map { _ in pick(shape.documents) }
  }

  private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func chance(_ probability: Double) -> Bool {
    Double.random(in: 0..<1, using: &random) < probability
  }

  // MARK: Playing

  mutating func play() throws {
    for _ in 0..<shape.steps {
      world.clock += 1000
      try step()
      try watch()
    }
    try settle()
    try judge()
  }

  private mutating func lines(after old: [String]?, _ key: Int) -> [String]? {
    if chance(0.12), old != nil { return nil }
    let line = chance(0.05) ? "same \(pick(3))" : world.line()
    // The last two keys are texts that are edited line by line.
    guard key >= 3, let old, chance(0.8) else { return [line] }
    return chance(0.5) ? [line] + old : old + [line]
  }

  private mutating func step() throws {
    if shape.setsBack, chance(0.08) { return try setBack() }
    let turn = Double.random(in: 0..<1, using: &random)
    switch turn {
    case ..<0.25: try writeInStore()
    case ..<0.45: writeOnPhone()
    case ..<0.62:
      let phone = pick(shape.phones)
      syncPhone(phone, chance(0.8) ? places[phone] : pick(shape.documents))
    case ..<0.82:
      let store = pick(shape.stores)
      _ = try stores[store].exchange(with: documents[peers[store][pick(peers[store].count)]])
    case ..<0.90:
      guard shape.stores > 1 else { return }
      let a = pick(shape.stores)
      try stores[a].exchange(with: stores[(a + 1 + pick(shape.stores - 1)) % shape.stores])
    case ..<0.93:
      guard shape.documents > 1 else { return }
      let a = pick(shape.documents)
      let b = (a + 1 + pick(shape.documents - 1)) % shape.documents
      if chance(0.5) {
        documents[a].mergeAsOriginal(documents[b])
      } else {
        documents[a].content = documents[b].content
      }
    case ..<0.96:
      guard !backups.isEmpty else { return }
      let (index, content) = backups[pick(backups.count)]
      documents[index].content = content
    default:
      let index = pick(shape.documents)
      backups.append((index, documents[index].content))
    }
  }

  /// Copies a store, or sets one back to a copy.
  private mutating func setBack() throws {
    if storeBackups.isEmpty || chance(0.5) {
      let index = pick(shape.stores)
      storeBackups.append((index, try stores[index].backUp()))
      return
    }
    let (index, backup) = storeBackups[pick(storeBackups.count)]
    try stores[index].restore(backup)
    (dead[index], last[index]) = ([:], [:])
  }

  private mutating func writeInStore() throws {
    let store = stores[pick(shape.stores)]
    var base = store.head
    if chance(0.1) {
      let ancestors = try store.ancestors()
      base = ancestors[pick(ancestors.count)]
    }
    var changes: [Int: [String]?] = [:]
    for _ in 0..<(chance(0.25) ? 2 : 1) {
      let key = pick(PlayedKeys.count)
      changes[key] = .some(lines(after: try store.lines(key, at: base), key))
    }
    try store.write(changes, on: base)
  }

  private mutating func writeOnPhone() {
    let index = pick(shape.phones)
    if chance(0.5) { sessions[index] += 1 }
    let key = pick(PlayedKeys.count)
    let phone = phones[index]
    let rows = phone.content.rows[key] ?? [:]
    let shown = rows.sorted { $0.key < $1.key }.compactMap(\.value.bytes).first
    let bytes = [UInt8(index)] + [UInt8](repeating: 0, count: 14) + [UInt8(sessions[index])]
    guard let author = DocumentAuthor(bytes: bytes) else { return }
    phone.write(
      key, lines(after: shown.map(PlayedKeys.lines), key), by: author,
      at: world.clock + [0, 0, 0, -8000, 8000][pick(5)], in: world)
    isDirty[index] = true
  }

  private mutating func syncPhone(_ index: Int, _ document: Int, canRace: Bool = true) {
    let (phone, document) = (phones[index], documents[document])
    if !canRace || !chance(0.05) {
      let before = phone.content
      if shape.mergesAsOriginal { phone.mergeAsOriginal(document) } else { phone.merge(document) }
      if phone.content != before { isDirty[index] = true }
    }
    if isDirty[index] {
      document.content = phone.content
      isDirty[index] = false
    }
  }

  /// Notes values that were replaced and are there again.
  private mutating func watch() throws {
    for (index, store) in stores.enumerated() {
      let state = try store.state
      var now: [Int: Set<DocumentDot>] = [:]
      for key in 0..<PlayedKeys.count {
        let live = state.keys[PlayedKeys.key(key)]?.live ?? []
        now[key] = Set(live.map(\.dot))
        for value in live
        where !value.isRemoval && dead[index][key, default: []].contains(value.dot) {
          guard let event = world.event(key, value.dot) else { continue }
          let known = world.known[try store.headID] ?? []
          let isReplaced = known.contains {
            world.events[$0].known.contains(event) && !world.events[$0].isMerged
          }
          if isReplaced { faults.append("a value that was replaced is open again") }
        }
      }
      for (key, dots) in last[index] {
        dead[index][key, default: []].formUnion(dots.subtracting(now[key] ?? []))
      }
      last[index] = now
    }
  }

  /// Everybody exchanges with everybody until nothing changes.
  private mutating func settle() throws {
    for index in phones.indices { isDirty[index] = true }
    for _ in 0..<30 {
      world.clock += 1000
      var work: [(Int, Int, Int)] = []
      for (store, documents) in peers.enumerated() {
        for document in documents { work.append((0, store, document)) }
        for other in stores.indices where other != store { work.append((1, store, other)) }
      }
      for phone in phones.indices { work.append((2, phone, places[phone])) }
      work.shuffle(using: &random)
      var hasChanged = false
      for (kind, a, b) in work {
        switch kind {
        case 0: if try stores[a].exchange(with: documents[b]) { hasChanged = true }
        case 1:
          let before = stores[a].head
          try stores[a].exchange(with: stores[b])
          if before != stores[a].head { hasChanged = true }
        default:
          let before = (phones[a].content, documents[b].content)
          syncPhone(a, b, canRace: false)
          if before != (phones[a].content, documents[b].content) { hasChanged = true }
        }
        try watch()
      }
      if !hasChanged { return }
    }
    faults.append("the exchange never ends")
  }

  // MARK: Judging

  private mutating func judge() throws {
    if world.reused > 0 { faults.append("\(world.reused) writes have a name of another") }
    var known: Set<Int> = []
    for store in stores { known.formUnion(world.known[try store.headID] ?? []) }
    for document in documents + phones { known.formUnion(document.content.known) }
    let first = try stores[0].state
    for (index, store) in stores.enumerated() {
      let state = try store.state
      for key in 0..<PlayedKeys.count {
        let events = known.filter { world.events[$0].key == key }
        let replaced = events.reduce(into: Set<Int>()) { $0.formUnion(world.events[$1].known) }
        let truth = events.subtracting(replaced).compactMap { world.events[$0].lines }
        let live = state.keys[PlayedKeys.key(key)]?.live ?? []
        if Set(live.map(\.dot)) != Set((first.keys[PlayedKeys.key(key)]?.live ?? []).map(\.dot)) {
          faults.append("stores \(index) and 0 differ at key \(key)")
        }
        let held = live.compactMap { world.event(key, $0.dot) }
        let values = held.compactMap { world.events[$0].lines }
        for lines in truth where !values.contains(where: { lines.isSubset(of: $0) }) {
          faults.append("store \(index) lost \(lines) of key \(key)")
        }
        for event in held where replaced.contains(event) {
          guard let lines = world.events[event].lines, !truth.contains(lines) else { continue }
          faults.append("store \(index) has \(lines) of key \(key), which was replaced")
        }
        let shown = state.keys[PlayedKeys.key(key)]
        if let dot = shown?.held, shown?.live.contains(where: { $0.dot == dot }) == false {
          faults.append("store \(index) shows what was replaced at key \(key)")
        }
        let inTree = try store.lines(key, at: store.head)
        if let inTree, let dot = shown?.held, let event = world.event(key, dot),
          world.events[event].lines != Set(inTree)
        {
          faults.append("store \(index) shows \(inTree) of key \(key), another write's value")
        }
      }
    }
  }
}
