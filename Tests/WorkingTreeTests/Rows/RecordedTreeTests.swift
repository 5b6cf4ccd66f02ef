import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("The recorded tree in rows", .timeLimit(.minutes(3)))
struct RecordedTreeTests {
  @Test("over random histories of heads the rows are the map's, and unchanged files keep numbers")
  func followsHeads() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    for life in 0..<25 {
      let history = try RecordedTreeHistory(seed: seed &+ UInt64(life))
      try history.change { $0.mutate(&$1, changes: Int.random(in: 0...25, using: &$0.random)) }
      guard case .built = try history.open() else {
        Issue.record("a tree was there before it was made")
        continue
      }
      try history.check("built, life \(life), seed \(seed)")
      for step in 0..<8 {
        let note = "step \(step) of life \(life), seed \(seed)"
        let before = history.view
        let old = try history.allNumbers()
        try history.advance { $0.mutate(&$1, changes: Int.random(in: 0...6, using: &$0.random)) }
        try history.check(note)
        try checkKept(history, from: before, old, note)
      }
    }
  }

  /// A file whose bytes and kind did not change keeps its number, a directory that stays too.
  private func checkKept(
    _ history: RecordedTreeHistory, from before: TreeView, _ old: [TreePath: InodeNumber],
    _ note: String
  ) throws {
    let shown = try TreeMaps.shown(before)
    for (path, found) in try TreeMaps.shown(history.view) {
      let number = try history.number(path)
      switch (shown[path], found) {
      case (.directory?, .directory): #expect(number == old[path], "\(path), \(note)")
      case (.value(let a)?, .value(let b))
      where a.attributes.linkID == nil && b.attributes.linkID == nil && a.key == b.key:
        let isSame = FileIdentity(a) == FileIdentity(b)
        #expect((number == old[path]) == isSame, "\(path), \(note)")
      case (_, .value(let b)):
        // A value that is shown elsewhere, since a directory took its name or left it.
        let source = shown.first { other, found in
          if case .value(let a) = found { return a.key == b.key && other != path }
          return false
        }
        guard let source, case .value(let a) = source.value, a.attributes.linkID == nil,
          b.attributes.linkID == nil, FileIdentity(a) == FileIdentity(b)
        else { continue }
        // Another value of these bytes may have been here, whose number is as good.
        if case .value(let here)? = shown[path], FileIdentity(here) == FileIdentity(b) { continue }
        #expect(number == old[source.key], "\(path), \(note)")
      default: continue
      }
    }
  }

  @Test("hints of any kind, wrong ones too, never make the rows others than the map's")
  func survivesHints() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    for life in 0..<25 {
      let history = try RecordedTreeHistory(seed: seed &+ UInt64(life))
      try history.change { $0.mutate(&$1, changes: 25) }
      try history.open()
      for step in 0..<8 {
        let old = try history.allNumbers()
        let places = old.keys.sorted()
        var hints = NumberHints()
        let before = try TreeMaps.shown(history.view)
        for _ in 0..<Int.random(in: 0...4, using: &history.maps.random) {
          guard let from = places.randomElement(using: &history.maps.random),
            let to = places.randomElement(using: &history.maps.random), let number = old[from],
            let found = before[from]
          else { continue }
          let path = history.maps.chance(50) ? to : to.parent.appending(FileName("c".utf8))
          switch found {
          case .directory:
            // A directory has one name in the working tree, and no two stand at one.
            guard !hints.directories.values.contains(number), !path.isAtOrBelow(from) else {
              continue
            }
            hints.directories[path] = number
          case .value(let entry):
            guard !hints.files.contains(where: { $0.number == number || $0.paths == [path] })
            else { continue }
            hints.files.append(
              .init(
                number: number, identity: FileIdentity(entry), linkID: entry.attributes.linkID,
                paths: [path]))
          }
        }
        try history.advance(hints: hints) { $0.mutate(&$1, changes: 4) }
        try history.check("step \(step) of life \(life), seed \(seed), \(hints)")
      }
    }
  }

  // MARK: - One rule each

  private func path(_ text: String) -> TreePath { TreePath(text.utf8) }

  private func put(
    _ key: String, _ text: String = "", linkID: UInt8? = nil, mode: UInt32? = nil,
    isDirectory: Bool = false, in entries: inout TreeMaps.Entries
  ) {
    let bytes = Array(text.utf8)
    let entry = Entry(
      key: Key(key), kind: isDirectory ? .directory : .regular,
      attributes: Attributes(mode: mode, linkID: linkID.map { [UInt8](repeating: $0, count: 16) }),
      stored: StoredContent(
        length: UInt64(bytes.count), digest: Digest.of(bytes),
        content: bytes.isEmpty ? .none : .inline(bytes)),
      storedVersion: VersionNumber(1), revision: 0)
    entries[.init(key: Key(key), isDirectory: isDirectory)] = entry
  }

  private func remove(_ key: String, in entries: inout TreeMaps.Entries) {
    entries[.init(key: Key(key), isDirectory: false)] = nil
    entries[.init(key: Key(key), isDirectory: true)] = nil
  }

  private func history(
    _ body: (inout TreeMaps.Entries) throws -> Void
  ) throws -> RecordedTreeHistory {
    let history = try RecordedTreeHistory(seed: 1)
    try history.change { _, entries in try body(&entries) }
    try history.open()
    try history.check("built")
    return history
  }

  private func file(
    _ number: InodeNumber, _ text: String, at paths: TreePath...
  ) -> NumberHints.File {
    let bytes = Array(text.utf8)
    return NumberHints.File(
      number: number,
      identity: FileIdentity(
        InodeRecord(
          kind: .regular,
          stored: StoredContent(
            length: UInt64(bytes.count), digest: Digest.of(bytes), content: .none),
          changed: .init(seconds: 0, nanoseconds: 0))), paths: paths)
  }

  @Test("a directory that the cut moved keeps its number and those below it")
  func movedDirectory() throws {
    let history = try history { entries in
      for name in ["x", "y", "s/z"] { put("d/\(name)", name, in: &entries) }
    }
    let old = try history.allNumbers()
    var hints = NumberHints()
    hints.directories[path("e")] = old[path("d")]
    try history.advance(hints: hints) { _, entries in
      for name in ["x", "y", "s/z"] { remove("d/\(name)", in: &entries) }
      for name in ["x", "s/z", "s/new"] { put("e/\(name)", name, in: &entries) }
    }
    try history.check("moved")
    for name in ["", "/x", "/s", "/s/z"] {
      #expect(try history.number(path("e\(name)")) == old[path("d\(name)")], "\(name)")
    }
    #expect(try history.number(path("d")) == nil)
    #expect(try history.number(path("e/y")) == nil)
  }

  @Test("directories that the cut exchanged keep their numbers")
  func exchangedDirectories() throws {
    let history = try history { entries in
      put("p/a", "a", in: &entries)
      put("q/b", "b", in: &entries)
    }
    let old = try history.allNumbers()
    var hints = NumberHints()
    hints.directories[path("p")] = old[path("q")]
    hints.directories[path("q")] = old[path("p")]
    try history.advance(hints: hints) { _, entries in
      remove("p/a", in: &entries)
      remove("q/b", in: &entries)
      put("p/b", "b", in: &entries)
      put("q/a", "a", in: &entries)
    }
    try history.check("exchanged")
    #expect(try history.number(path("p")) == old[path("q")])
    #expect(try history.number(path("p/b")) == old[path("q/b")])
    #expect(try history.number(path("q/a")) == old[path("p/a")])
  }

  @Test("a directory whose old place a merge filled again is two directories")
  func movedAndFilledAgain() throws {
    let history = try history { entries in
      put("d/x", "x", in: &entries)
      put("d/y", "y", in: &entries)
    }
    let old = try history.allNumbers()
    var hints = NumberHints()
    hints.directories[path("e")] = old[path("d")]
    try history.advance(hints: hints) { _, entries in
      remove("d/x", in: &entries)
      put("e/x", "x", in: &entries)
      put("d/new", "new", in: &entries)
    }
    try history.check("moved")
    #expect(try history.number(path("e")) == old[path("d")])
    #expect(try history.number(path("d")) != old[path("d")])
  }

  @Test("a file that the cut took keeps its number if the head has its bytes, and no other does")
  func takenFile() throws {
    let history = try history { entries in put("f", "old", in: &entries) }
    let old = try #require(try history.number(path("f")))
    // Written in place: the same inode with other bytes.
    var hints = NumberHints()
    hints.files = [file(old, "new", at: path("f"))]
    try history.advance(hints: hints) { _, entries in put("f", "new", in: &entries) }
    #expect(try history.number(path("f")) == old)
    // A merge brought other bytes than those that were taken.
    hints.files = [file(old, "mine", at: path("f"))]
    try history.advance(hints: hints) { _, entries in put("f", "merged", in: &entries) }
    #expect(try history.number(path("f")) != old)
  }

  @Test("files that the cut exchanged have the numbers that the working tree has")
  func exchangedFiles() throws {
    for second in ["two", "one"] {
      let history = try history { entries in
        put("f", "one", in: &entries)
        put("g", second, in: &entries)
      }
      let f = try #require(try history.number(path("f")))
      let g = try #require(try history.number(path("g")))
      var hints = NumberHints()
      hints.files = [file(g, second, at: path("f")), file(f, "one", at: path("g"))]
      try history.advance(hints: hints) { _, entries in
        put("f", second, in: &entries)
        put("g", "one", in: &entries)
      }
      try history.check("exchanged")
      #expect(try history.number(path("f")) == g, "\(second)")
      #expect(try history.number(path("g")) == f, "\(second)")
    }
  }

  @Test("hard links that change together keep or lose their number together")
  func hardLinks() throws {
    let history = try history { entries in
      for name in ["a", "b", "c"] { put(name, "one", linkID: 1, in: &entries) }
    }
    let old = try #require(try history.number(path("a")))
    #expect(try history.number(path("c")) == old)
    try history.advance { _, entries in
      for name in ["a", "b", "c"] { put(name, "one", linkID: 1, mode: 0o600, in: &entries) }
    }
    try history.check("other attributes")
    for name in ["a", "b", "c"] { #expect(try history.number(path(name)) == old) }
    try history.advance { _, entries in
      for name in ["a", "c"] { put(name, "one", linkID: 1, mode: 0o600, in: &entries) }
      put("b", "two", linkID: 1, in: &entries)
    }
    try history.check("one parts")
    #expect(try history.number(path("b")) != old)
    #expect(try history.number(path("c")) == old)
    try history.advance { _, entries in
      for name in ["a", "b", "c"] { put(name, "three", linkID: 1, in: &entries) }
    }
    try history.check("all join")
    #expect(try history.number(path("a")) == (try history.number(path("b"))))
  }

  @Test("names and their changes move the times of their directory, attributes do not")
  func directoryTimes() throws {
    let history = try history { entries in put("d/f", "one", in: &entries) }
    func time() throws -> Attributes.Time? {
      let number = try #require(try history.number(path("d")))
      return try history.tree?.inode(number)?.record.shownTime
    }
    #expect(try time() == nil)
    try history.advance { _, entries in put("d/f", "one", mode: 0o600, in: &entries) }
    #expect(try time() == nil)
    try history.advance { _, entries in put("d/g", "two", in: &entries) }
    #expect(try time() == history.now)
    let came = try time()
    try history.advance { _, entries in put("e", "", in: &entries) }
    #expect(try time() == came)
    try history.advance { _, entries in put("d/f", "other", in: &entries) }
    #expect(try time() == history.now)
  }

  @Test("what the cut took goes on showing its times, and what others changed shows the clock's")
  func takenTimes() throws {
    for hasOthers in [false, true] {
      let history = try history { entries in
        for name in ["f", "d/f", "e/f"] { put(name, "old", in: &entries) }
      }
      func times(_ text: String) throws -> [Attributes.Time?] {
        let number = try #require(try history.number(path(text)))
        let record = try #require(try history.tree?.inode(number)?.record)
        return [record.shownTime ?? record.attributes.mtime, record.changed]
      }
      func shown(_ seconds: Int64) -> NumberHints.Times {
        NumberHints.Times(
          modified: .init(seconds: seconds, nanoseconds: 1),
          changed: .init(seconds: seconds, nanoseconds: 2))
      }
      var hints = NumberHints()
      let number = try #require(try history.number(path("d/f")))
      hints.files = [file(number, "new", at: path("d/f"))]
      var frozen = Overlay()
      for (index, name) in ["d/g", "e/g", "g"].enumerated() {
        let made = InodeNumber(1000 + UInt64(index))
        let above = name.split(separator: "/").dropLast().joined()
        hints.files.append(file(made, "mine", at: path(name)))
        frozen.setChange(
          NameChange(inode: made, stamp: .start, hidesRecorded: false),
          at: InodeName(
            directory: try #require(try history.number(path(above))), name: path(name).name))
      }
      hints.frozen = frozen
      for (index, name) in ["f", "d/f", "d/g"].enumerated() {
        hints.times[path(name)] = shown(Int64(index) + 10)
      }
      let directories = ["d", "e", ""]
      let before = try directories.map(times)
      try history.advance(hints: hints) { maps, entries in
        put("d/f", "new", in: &entries)
        put("d/g", "mine", in: &entries)
        put("e/g", "mine", in: &entries)
        put("g", "mine", in: &entries)
        hints.own = try maps.view(entries)
        guard hasOthers else { return }
        put("f", "theirs", in: &entries)
        put("e/theirs", "theirs", in: &entries)
      }
      #expect(try history.tree?.faults(comparedWith: history.view) == [])
      for (name, isOfOthers) in [("f", hasOthers), ("d/f", false), ("d/g", false)] {
        let hint = try #require(hints.times[path(name)])
        #expect(try (times(name) == [hint.modified, hint.changed]) != isOfOthers, "\(name)")
      }
      let clock: [Attributes.Time?] = [history.now, history.now]
      let expected = hasOthers ? [before[0], clock, clock] : before
      #expect(try directories.map(times) == expected)
    }
  }

  @Test("rows that were withdrawn are not shown, and the next are")
  func withdrawn() throws {
    let history = try history { entries in put("f", "one", in: &entries) }
    let tree = try #require(history.tree)
    let before = history.view
    try history.change { _, entries in put("g", "two", in: &entries) }
    let numbers = NumberSource { _ in 1_000_000 }
    try tree.prepare(history.head(), from: before, numbers: numbers, now: history.now)
    #expect(try tree.faults(comparedWith: before) == [])
    tree.withdraw()
    #expect(try tree.faults(comparedWith: before) == [])
    try tree.prepare(history.head(), from: before, numbers: numbers, now: history.now)
    try tree.publish()
    try history.check("published")
  }
}
