import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Paths at which two trees differ", .timeLimit(.minutes(2)))
struct PathDiffTests {
  @Test("every path that differs is found, and no other, in an order that can be followed")
  func agreesWithWalking() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var maps = TreeMaps(seed: seed)
    for round in 0..<400 {
      var entries: TreeMaps.Entries = [:]
      maps.mutate(&entries, changes: Int.random(in: 0...25, using: &maps.random))
      let before = try maps.view(entries)
      maps.mutate(&entries, changes: Int.random(in: 1...6, using: &maps.random))
      let after = try maps.view(entries)
      // The entries that are not kept are looked up once more.
      for limit in [PathSearch.keptChanges, 2, 0] {
        try compare(before, after, keeping: limit, "round \(round), seed \(seed), keeping \(limit)")
      }
    }
  }

  @Test("a path changes for programs where its content differs, and not where that is stored again")
  func content() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var maps = TreeMaps(seed: seed)
    var again = 0
    for round in 0..<200 {
      var entries: TreeMaps.Entries = [:]
      maps.mutate(&entries, changes: Int.random(in: 0...25, using: &maps.random))
      let before = try maps.view(entries)
      maps.mutate(&entries, changes: Int.random(in: 1...6, using: &maps.random))
      for place in entries.keys where maps.chance(20) {
        entries[place]?.storedVersion = VersionNumber(7)
        again += 1
      }
      let after = try maps.view(entries)
      let (old, new) = (try TreeMaps.shown(before), try TreeMaps.shown(after))
      var found: Set<TreePath> = []
      try PathDiff.forEachPath(from: before, to: after) { (path) throws(StoreError) in
        found.insert(path)
      }
      let expected = Set(old.keys).union(new.keys).filter {
        withoutPlace(old[$0]) != withoutPlace(new[$0])
      }
      #expect(found == expected, "round \(round), seed \(seed)")
    }
    #expect(again > 0)
  }

  private func withoutPlace(_ found: TreeView.Found?) -> [Entry?]? {
    func plain(_ entry: Entry) -> Entry {
      var entry = entry
      (entry.storedVersion, entry.revision) = (VersionNumber(1), 0)
      return entry
    }
    return found.map { found in
      switch found {
      case .value(let entry): [plain(entry)]
      case .directory(let entry): [nil, entry.map(plain)]
      }
    }
  }

  private func compare(
    _ before: TreeView, _ after: TreeView, keeping limit: Int, _ note: String
  ) throws {
    let old = try TreeMaps.shown(before)
    let new = try TreeMaps.shown(after)
    var tree = old
    var diff = try PathDiff(from: before, to: after, keeping: limit)
    var seen: Set<TreePath> = []
    while let step = try diff.next() {
      switch step {
      case .gone(let change):
        check(change, old, new, note)
        // Nothing is left in a directory that goes.
        #expect(!tree.keys.contains { $0 != change.path && $0.isAtOrBelow(change.path) }, "\(note)")
        #expect(tree.removeValue(forKey: change.path) != nil, "\(text(change.path)), \(note)")
        #expect(seen.isEmpty, "something came before \(text(change.path)) went, \(note)")
      case .come(let change):
        check(change, old, new, note)
        #expect(tree[change.path] == nil, "\(text(change.path)), \(note)")
        let above = change.path.parent
        #expect(above.isRoot || tree[above]?.isDirectory == true, "\(text(change.path)), \(note)")
        tree[change.path] = change.after
        #expect(seen.insert(change.path).inserted, "\(text(change.path)) twice, \(note)")
      case .changed(let change):
        check(change, old, new, note)
        tree[change.path] = change.after
        #expect(seen.insert(change.path).inserted, "\(text(change.path)) twice, \(note)")
      }
    }
    #expect(Set(tree.keys) == Set(new.keys), "\(note)")
    for (path, found) in new {
      #expect(tree[path].map { $0.isSame(as: found) } == true, "\(text(path)), \(note)")
    }
  }

  private func check(
    _ change: PathChange, _ old: [TreePath: TreeView.Found], _ new: [TreePath: TreeView.Found],
    _ note: String
  ) {
    let note = "\(text(change.path)), \(note)"
    #expect(change.before == old[change.path], "\(note)")
    #expect(change.after == new[change.path], "\(note)")
    #expect(change.source == otherPath(of: change.after, at: change.path, in: old), "\(note)")
    #expect(change.target == otherPath(of: change.before, at: change.path, in: new), "\(note)")
  }

  /// The path at which a tree shows the key of a value, if that is elsewhere.
  private func otherPath(
    of found: TreeView.Found?, at path: TreePath, in tree: [TreePath: TreeView.Found]
  ) -> TreePath? {
    guard case .value(let entry)? = found else { return nil }
    let other = tree.first { _, found in
      if case .value(let other) = found { return other.key == entry.key }
      return false
    }
    return other.flatMap { $0.key == path ? nil : $0.key }
  }

  private func text(_ path: TreePath) -> String { PrintableText.text(path.bytes) }

  @Test("trees that differ in revisions alone show the same")
  func revisionsAreNotShown() throws {
    var maps = TreeMaps(seed: 1)
    var entries: TreeMaps.Entries = [:]
    maps.mutate(&entries, changes: 30)
    let before = try maps.view(entries)
    for place in entries.keys {
      entries[place]?.revision += 1
    }
    var diff = try PathDiff(from: before, to: try maps.view(entries))
    #expect(diff.count == 0)
    #expect(try diff.next() == nil)
  }

  @Test("a difference of many paths is told whole, whether or not its entries are kept")
  func manyPaths() throws {
    var maps = TreeMaps(seed: 2)
    var entries: TreeMaps.Entries = [:]
    let before = try maps.view(entries)
    for number in 0..<30_000 {
      let key = Key("d\(number % 300)/f\(number)")
      entries[.init(key: key, isDirectory: false)] = maps.entry(key, isDirectory: false)
    }
    let after = try maps.view(entries)
    for (from, to) in [(before, after), (after, before)] {
      var diff = try PathDiff(from: from, to: to)
      #expect(diff.count == 30_300)
      var count = 0
      while let step = try diff.next() {
        if case .changed = step { Issue.record("nothing only changed") }
        count += 1
      }
      #expect(count == 30_300)
    }
  }
}
