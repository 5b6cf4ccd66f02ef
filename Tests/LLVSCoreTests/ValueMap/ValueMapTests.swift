import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(3)))
struct ValueMapTests {
  @Test("the published trees have their published digests")
  func vectors() throws {
    for tree in try DigestVectors.load().trees {
      var entries: [Entry] = []
      if tree.name.hasPrefix("numbered ") {
        let digits = tree.name.dropFirst(9).prefix { $0.isNumber }
        entries = Samples.numbered(try #require(Int(digits)))
      }
      for entry in tree.entries {
        var fields: [UInt8] = []
        for field in entry.fields {
          for part in field {
            switch part {
            case .tag(let tag): fields.append(tag)
            case .hex(let hex):
              let bytes = DigestVectors.bytes(hex)
              fields += [0, 0, 0, UInt8(bytes.count)] + bytes
            }
          }
        }
        let attributes = try #require(fields.withUnsafeBytes { Attributes(decoding: $0) })
        #expect(attributes.encoded == fields)
        var made = Samples.value(
          String(decoding: DigestVectors.bytes(entry.key), as: UTF8.self),
          DigestVectors.bytes(entry.data), attributes: attributes)
        made.kind = try #require(EntryKind(rawValue: entry.kind))
        entries.append(made)
      }
      let map = try Samples.map(entries)
      #expect(map.contentDigest.hex == tree.contentDigest, "\(tree.name)")
      #expect(map.count == UInt64(entries.count))
      entries.sort(by: Samples.precedes)
      #expect(NaiveTree.digest(entries).hex == tree.contentDigest, "\(tree.name)")
      #expect(try Samples.entries(of: map) == entries)
      var seen: Set<Location> = []
      try map.verify(seen: &seen) { _ throws(StoreError) in }
    }
  }

  @Test("random edits give the digest, entries and diffs of a map built from scratch")
  func randomEdits() throws {
    for seed in UInt64(1)...6 {
      var random = SeededRandom(seed: seed)
      var model: [String: Entry] = [:]
      let nodes = MemoryNodes()
      var map = Samples.empty(nodes, cache: 20_000)
      for step in 0..<40 {
        let before = model
        let beforeMap = map
        var edits: [String: MapEdit] = [:]
        let size = [1, 3, 30, 700].randomElement(using: &random) ?? 1
        let removing = Int.random(in: 0..<10, using: &random) < 3
        for _ in 0..<size {
          let directory = Int.random(in: 0..<12, using: &random) == 0
          let name =
            "d\(Int.random(in: 0..<9, using: &random))/\(Int.random(in: 0..<400, using: &random))"
          let slot = name + (directory ? "\u{0}" : "")
          if removing || Int.random(in: 0..<4, using: &random) == 0 {
            edits[slot] = .remove(Key(name), directory: directory)
            model[slot] = nil
          } else {
            var entry =
              directory
              ? Samples.directory(name)
              : Samples.value(name, Array("\(Int.random(in: 0..<3, using: &random))".utf8))
            entry.revision = UInt64.random(in: 0..<2, using: &random)
            edits[slot] = .put(entry)
            model[slot] = entry
          }
        }
        if step == 25 {
          for (slot, entry) in model {
            edits[slot] = .remove(entry.key, directory: entry.isDirectory)
          }
          model = [:]
        }
        map = try map.applying(edits: edits.values.sorted(by: MapEdit.precedes))
        let expected = model.values.sorted(by: Samples.precedes)
        #expect(try Samples.entries(of: map) == expected, "seed \(seed) step \(step)")
        #expect(map.contentDigest == NaiveTree.digest(expected), "seed \(seed) step \(step)")
        #expect(map.count == UInt64(expected.count))
        try checkDiffs(from: beforeMap, before, to: map, model, "seed \(seed) step \(step)")
        for entry in expected.shuffled(using: &random).prefix(20) {
          #expect(try map.entry(at: entry.key, directory: entry.isDirectory) == entry)
        }
        #expect(try map.entry(at: Key("d3/")) == nil)
      }
      var seen: Set<Location> = []
      try map.verify(seen: &seen) { _ throws(StoreError) in }
    }
  }

  private func checkDiffs(
    from old: ValueMap, _ before: [String: Entry], to new: ValueMap, _ after: [String: Entry],
    _ comment: Comment
  ) throws {
    for (prefix, comparison) in [
      ("", MapDiff.Comparison.everything), ("d4/", .everything), ("", .content), ("d8/3", .content),
    ] {
      var expected: [MapChange] = []
      for slot in Set(before.keys).union(after.keys) where slot.hasPrefix(prefix) {
        let change = MapChange(old: before[slot], new: after[slot])
        if change.old == change.new { continue }
        if comparison == .content, let a = change.old, let b = change.new, a.hasSameContent(as: b) {
          continue
        }
        expected.append(change)
      }
      expected.sort { a, b in
        a.key == b.key ? !a.isDirectory && b.isDirectory : a.key < b.key
      }
      var found: [MapChange] = []
      try ValueMap.diff(
        from: old, to: new, prefix: Array(prefix.utf8), comparing: comparison
      ) { change throws(StoreError) in found.append(change) }
      #expect(found == expected, comment)
    }
  }

  @Test("a run that chosen keys make long is cut alike whatever the edits", arguments: 1...3)
  func longRuns(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    // Keys whose hash ends no run on level 0, and a few that do.
    var names: [String] = []
    var number = 0
    while names.count < 1500 {
      number += 1
      let low = Digest.of(Array("llvs key 1chosen \(number)".utf8)).bytes[31] & 63
      if low != 0 || number % 7 == 0 { names.append("chosen \(number)") }
    }
    var model: [String: Entry] = [:]
    var map = Samples.empty()
    for step in 0..<30 {
      var edits: [String: MapEdit] = [:]
      for _ in 0..<([1, 2, 60].randomElement(using: &random) ?? 1) * (step < 8 ? 5 : 1) {
        let name = names.randomElement(using: &random) ?? ""
        if step > 15, Bool.random(using: &random) {
          edits[name] = .remove(Key(name), directory: false)
          model[name] = nil
        } else {
          let entry = Samples.value(name, [UInt8.random(in: 0...255, using: &random)])
          edits[name] = .put(entry)
          model[name] = entry
        }
      }
      map = try map.applying(edits: edits.values.sorted(by: MapEdit.precedes))
      let expected = model.values.sorted(by: Samples.precedes)
      #expect(map.contentDigest == NaiveTree.digest(expected), "seed \(seed) step \(step)")
    }
    #expect(model.count > 256)
  }

  @Test("the last entry is replaced and another put behind it in one edit")
  func replacedAndAppended() throws {
    var model: [Entry] = []
    var map = Samples.empty()
    // Every so often the last key ends a run.
    for number in 10_000..<10_300 {
      let new = Samples.value("k\(number)", [1])
      if let last = model.popLast() {
        let changed = Samples.value(last.key.rawValue, [2])
        model += [changed, new]
        map = try map.applying(edits: [.put(changed), .put(new)])
      } else {
        model = [new]
        map = try map.applying(edits: [.put(new)])
      }
      #expect(try Samples.map(model).contentDigest == map.contentDigest)
    }
    #expect(try Samples.entries(of: map).map(\.key) == model.map(\.key))
  }

  @Test("one edit of a large map writes a path of nodes and leaves the rest in place")
  func oneEdit() throws {
    let nodes = MemoryNodes()
    let map = try Samples.map(Samples.numbered(20_000), nodes)
    let before = nodes.written
    let edited = try map.applying(edits: [.put(Samples.value("k777", [1]))])
    #expect(nodes.written - before <= 4)
    let reads = nodes.reads
    var changes = 0
    try ValueMap.diff(from: map, to: edited) { _ throws(StoreError) in changes += 1 }
    #expect(changes == 1)
    #expect(nodes.reads - reads < 10)
    let back = try edited.applying(edits: [.put(Samples.value("k777", Array("k777".utf8)))])
    #expect(back.contentDigest == map.contentDigest)
    let unchanged = try map.applying(edits: [
      .put(Samples.value("k777", Array("k777".utf8))), .remove(Key("none"), directory: false),
    ])
    #expect(unchanged.root == map.root)
  }

  @Test("of a hundred entries the one that differs is found wherever it stands")
  func oneChange() throws {
    // All in one leaf, with bytes of several lengths.
    let entries = (0..<100).map {
      Samples.value("k\(100 + $0)", [UInt8](repeating: 7, count: 1 + $0 % 3))
    }
    let nodes = MemoryNodes()
    let map = try Samples.map(entries, nodes)
    for (index, entry) in entries.enumerated() {
      for bytes in [[UInt8](repeating: 8, count: 1 + index % 3), [8, 8, 8, 8, 8]] {
        let changed = Samples.value(entry.key.rawValue, bytes)
        let other = try map.applying(edits: [.put(changed)])
        var changes: [MapChange] = []
        try ValueMap.diff(from: map, to: other) { change throws(StoreError) in
          changes.append(change)
        }
        #expect(changes.map(\.old) == [entry])
        #expect(changes.map(\.new) == [changed])
        #expect(try other.entry(at: entry.key) == changed)
      }
    }
  }

  @Test("edits out of order are refused")
  func order() {
    #expect(throws: StoreError.self) {
      try Samples.empty().applying(edits: [
        .put(Samples.value("b")), .put(Samples.value("a")),
      ])
    }
    #expect(throws: StoreError.self) {
      try Samples.empty().applying(edits: [
        .put(Samples.directory("a")), .put(Samples.value("a")),
      ])
    }
  }

  @Test("a cursor seeks forward and back and skips subdirectories")
  func cursor() throws {
    var entries = [Samples.directory("a"), Samples.value("a"), Samples.value("z")]
    for directory in ["a", "b", "b/c"] {
      entries += (0..<500).map { Samples.value("\(directory)/\($0)") }
    }
    let map = try Samples.map(entries)
    var cursor = MapCursor(map)
    try cursor.seek(to: Array("b/".utf8))
    #expect(cursor.key == Key("b/0"))
    try cursor.seek(to: Array("b/c0".utf8))
    #expect(cursor.key == Key("z"))
    try cursor.advance()
    #expect(cursor.key == nil)
    try cursor.seek(to: Array("a".utf8), directory: true)
    #expect(cursor.kind == .directory)
    try cursor.seek(to: [])
    #expect(try cursor.next()?.kind == .regular)
    #expect(try cursor.next()?.kind == .directory)
    #expect(try map.contains(prefix: Array("b/c/".utf8)))
    #expect(try !map.contains(prefix: Array("c/".utf8)))
  }

  @Test("damaged nodes are refused or read, never trapped on")
  func damage() throws {
    let entries = Samples.numbered(600)
    var random = SeededRandom(seed: 5)
    for _ in 0..<400 {
      let nodes = MemoryNodes()
      let root = try Samples.map(entries, nodes).root
      let place = Location(
        segment: 1, offset: UInt64.random(in: 0..<UInt64(nodes.written), using: &random), length: 0)
      nodes.damage(at: place) { bytes in
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
        case 1:
          bytes[Int.random(in: 0..<min(80, bytes.count), using: &random)] = UInt8.random(
            in: 0...255, using: &random)
        default:
          bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8(
            1 << Int.random(in: 0..<8, using: &random))
        }
      }
      let map = ValueMap(root: root, storage: nodes, cache: NodeCache(budget: 1 << 20))
      _ = try? Samples.entries(of: map)
      _ = try? map.entry(at: Key("k300"))
      _ = try? map.applying(edits: [
        .put(Samples.value("k5")), .remove(Key("k9"), directory: false),
      ])
    }
  }
}
