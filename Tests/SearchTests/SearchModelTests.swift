import LLVSCore
import Platform
import Search
import TestSupport
import Testing

/// Random trees, changed, merged and not yet in a version, searched by the index and by a look through all files.
@Suite("Searching beside a look through all files", .timeLimit(.minutes(4)))
struct SearchModelTests {
  @Test("both find the same files, in the tree and in history", arguments: UInt64(0)..<8)
  func likePlainScan(seed: UInt64) throws {
    var random = SeededRandomSource(seed: seed)
    let place = try SearchedStore()
    var found = 0
    for round in 0..<60 {
      try change(place, &random)
      if random.isOne(in: 12) { try merge(place, &random) }
      if random.isOne(in: 15) { try removeIndex(place) }
      guard random.isOne(in: 3) else { continue }
      let number = try #require(try place.store.state().head)
      let head = try files(place, at: number)
      let tree = pending(over: head, &random)
      for _ in 0..<4 {
        let query = ScannedQuery(&random)
        let directory = random.isOne(in: 3) ? "d\(random.number(0...2))" : ""
        let includesHistory = random.isOne(in: 4)
        var all = tree.files
        if includesHistory { all = try history(place) + tree.files.filter { tree.isPending($0) } }
        let expected = all.filter { file in
          query.isMet(by: file) && (directory.isEmpty || file.path.hasPrefix("\(directory)/"))
        }
        found += expected.count
        let result = try place.search(query.text) {
          $0.pending = tree.pending
          $0.directory = Array(directory.utf8)
          $0.includesHistory = includesHistory
          $0.order = .path
          $0.limit = 10_000
        }
        let asked = "seed \(seed), round \(round): \(query.text), below '\(directory)'"
        #expect(keys(result) == expected.map(key).sorted(), "\(asked)")
        let few = try place.search(query.text) {
          $0.pending = tree.pending
          $0.directory = Array(directory.utf8)
          $0.includesHistory = includesHistory
          $0.limit = 2
        }
        #expect(few.count == expected.count, "\(asked)")
        #expect(few.hits.count == min(2, expected.count), "\(asked)")
      }
    }
    // A model that finds nothing would agree with an index that finds nothing.
    #expect(found > 100)
  }

  private func key(_ file: ScannedFile) -> String {
    "\(file.path)@\(file.version?.rawValue ?? 0)"
  }

  private func keys(_ result: SearchResult) -> [String] {
    result.hits.map {
      "\(String(decoding: $0.path, as: UTF8.self))@\($0.version?.rawValue ?? 0)"
    }.sorted()
  }

  // MARK: What people do

  private func change(_ place: SearchedStore, _ random: inout SeededRandomSource) throws {
    let head = try place.store.state().head
    var changes = [Value.Change.insert(Value(id: Key(random.path), data: random.file))]
    if let head, let old = try files(place, at: head).randomElement(using: &random) {
      let bytes = try bytes(place, old.path, at: head)
      switch random.number(0...3) {
      case 0: changes.append(.remove(Key(old.path)))
      case 1:
        // Renamed.
        let path = random.path
        if path != old.path {
          changes = [.remove(Key(old.path)), .insert(Value(id: Key(path), data: bytes))]
        }
      case 2: changes = [.insert(Value(id: Key(random.path), data: bytes))]
      default: break
      }
    }
    try place.write(changes: changes)
  }

  /// Writes two versions on one, and merges them.
  private func merge(_ place: SearchedStore, _ random: inout SeededRandomSource) throws {
    let store = place.store
    let base = try store.graph.node(try #require(try store.state().head)).id
    let sides = (0..<2).map { _ in
      (0..<3).map { _ in Value.Change.insert(Value(id: Key(random.path), data: random.file)) }
    }
    let outcome = try store.write { transaction throws(StoreError) in
      var made: [VersionNumber] = []
      for side in sides {
        made.append(
          try transaction.makeVersion(basedOn: .init(idOfFirst: base), storing: side).number)
      }
      let report = try transaction.mergeHeads(ofLine: nil, live: made[0]) {
        ContentArbiter(.automatic, $0, store.contents)
      }
      return report.outcome
    }
    let number = try #require(outcome)
    let record = try #require(try store.version(number))
    try store.write { transaction throws(StoreError) in
      try transaction.setHead(record.number, map: record.map, reason: .merge)
    }
  }

  private func removeIndex(_ place: SearchedStore) throws {
    for suffix in ["", "-wal", "-shm"] {
      try? FileSystem.unlink("\(place.store.path)/search.sqlite" + suffix)
    }
  }

  // MARK: What there is

  private func map(_ place: SearchedStore, _ version: VersionNumber) throws -> ValueMap {
    let record = try #require(try place.store.version(version))
    return place.store.map(of: record)
  }

  private func entries(_ place: SearchedStore, at version: VersionNumber) throws -> [Entry] {
    let store = place.store
    var diff = try MapDiff(from: store.map(.empty), to: try map(place, version))
    var entries: [Entry] = []
    while let change = try diff.next() {
      if let entry = change.new, entry.kind == .regular { entries.append(entry) }
    }
    return entries
  }

  private func bytes(
    _ place: SearchedStore, _ path: String, at version: VersionNumber
  ) throws -> [UInt8] {
    let entry = try #require(try map(place, version).entry(at: Key(path)))
    return try place.store.contents.bytes(entry.stored)
  }

  private func files(_ place: SearchedStore, at version: VersionNumber) throws -> [ScannedFile] {
    try entries(place, at: version).map {
      ScannedFile(path: $0.key.rawValue, bytes: try place.store.contents.bytes($0.stored))
    }
  }

  /// All distinct revisions of all files.
  private func history(_ place: SearchedStore) throws -> [ScannedFile] {
    var found: Set<ScannedFile> = []
    for number in 1...place.store.lastNumber {
      for entry in try entries(place, at: VersionNumber(number)) {
        found.insert(
          ScannedFile(
            path: entry.key.rawValue, version: entry.storedVersion,
            bytes: try place.store.contents.bytes(entry.stored)))
      }
    }
    return Array(found)
  }

  /// A tree as people see it.
  private struct Tree {
    var files: [ScannedFile]
    var pending = SearchPending()
    var pendingPaths: Set<String> = []

    func isPending(_ file: ScannedFile) -> Bool { pendingPaths.contains(file.path) }
  }

  /// Changes files in a way that no version has yet.
  private func pending(
    over head: [ScannedFile], _ random: inout SeededRandomSource
  ) -> Tree {
    var tree = Tree(files: head)
    if random.isOne(in: 4) {
      let directory = "d\(random.number(0...2))"
      tree.pending.hide(Array(directory.utf8))
      tree.files.removeAll { $0.path.hasPrefix("\(directory)/") }
    }
    for _ in 0..<random.number(0...2) {
      guard let gone = tree.files.randomElement(using: &random) else { continue }
      tree.pending.hide(Array(gone.path.utf8))
      tree.files.removeAll { $0.path == gone.path }
    }
    for _ in 0..<random.number(0...2) {
      let (path, bytes) = (random.path, random.file)
      guard tree.pendingPaths.insert(path).inserted else { continue }
      tree.pending.add(Array(path.utf8), length: UInt64(bytes.count), time: 0) { bytes }
      tree.files.removeAll { $0.path == path }
      tree.files.append(ScannedFile(path: path, bytes: bytes))
    }
    return tree
  }
}

/// Random paths, files and spellings.
struct SeededRandomSource: RandomNumberGenerator {
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: 3500 + seed) }

  mutating func next() -> UInt64 { random.next() }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

  /// True once in so many times.
  mutating func isOne(in count: Int) -> Bool { number(1...count) == 1 }

  var spelling: String {
    mutating get { ScannedWords.spellings[number(0...ScannedWords.spellings.count - 1)].text }
  }

  var path: String {
    mutating get {
      let name = isOne(in: 3) ? "\(spelling)-\(number(0...3))" : "f\(number(0...7))"
      return isOne(in: 6) ? name : "d\(number(0...2))/\(name).txt"
    }
  }

  /// A text of a few lines; seldom in UTF-16, or with a NUL so that it is no text.
  var file: [UInt8] {
    mutating get {
      let text = (0..<number(1...4)).map { _ in
        (0..<number(1...3)).map { _ in spelling }.joined(separator: isOne(in: 4) ? "-" : " ")
      }.joined(separator: "\n")
      switch number(0...9) {
      case 0: return [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
      case 1: return Array(text.utf8) + [0]
      default: return Array(text.utf8)
      }
    }
  }
}
