import Foundation
import Inodes
import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// What programs did during a cut shows the same attributes and numbers after it, and after later cuts.
@Suite(.timeLimit(.minutes(2)))
struct KeptStatusTests {
  /// What a program does to `f`, `g`, `d` with `d/x` and `d/e`, and `z`.
  enum Deed: CaseIterable {
    case setMode, setSameMode, setTime, rename, renameThereAndBack, renameOver, renameInto, link
    case linkAndUnlink, exchange, save, write, writeSame, makeAndRemove, makeDirectoryAndRemove
    case renameDirectory, renameDirectoryThereAndBack, replaceDirectory, setDirectoryMode
    case setSameDirectoryMode, setExtended, exchangeThereAndBack

    fileprivate func done(in work: TreeAtWork) throws {
      switch self {
      case .setMode: try work.setMode("f", 0o600)
      case .setSameMode: try work.setMode("f", 0o644)
      case .setTime:
        var change = StatusChange()
        change.mtime = Attributes.Time(seconds: 1000, nanoseconds: 1)
        _ = try work.tree.setattr(work.number("f"), change)
      case .rename: try work.rename("f", "h")
      case .renameThereAndBack:
        try work.rename("f", "h")
        try work.rename("h", "f")
      case .renameOver: try work.rename("f", "g")
      case .renameInto: try work.rename("f", "d/h")
      case .link: try work.link("f", "h")
      case .linkAndUnlink:
        try work.link("f", "h")
        try work.unlink("h")
      case .exchange: try work.rename("f", "d/x", .exchange)
      case .exchangeThereAndBack:
        for _ in 0..<2 { try work.rename("f", "d/x", .exchange) }
      case .save:
        try work.save("t", "new")
        try work.rename("t", "f")
      case .write: try work.save("f", "other")
      case .writeSame: try work.save("f", "one")
      case .makeAndRemove:
        try work.save("d/n", "new")
        try work.unlink("d/n")
      case .makeDirectoryAndRemove:
        try work.makeDirectory("d/n")
        try work.removeDirectory("d/n")
      case .renameDirectory: try work.rename("d", "y")
      case .renameDirectoryThereAndBack:
        try work.rename("d", "y")
        try work.rename("y", "d")
      case .replaceDirectory: try work.rename("d", "z")
      case .setDirectoryMode: try work.setMode("d", 0o700)
      case .setSameDirectoryMode: try work.setMode("d", 0o755)
      case .setExtended:
        try work.tree.setxattr(work.number("f"), Array("user.a".utf8), [1])
      }
    }
  }

  /// What else is at work.
  enum Company: CaseIterable {
    case nobody, cut, merge
  }

  @Test(
    "Attributes and numbers stay what they were shown to be, whatever a version takes",
    arguments: Deed.allCases, Company.allCases)
  func stays(deed: Deed, company: Company) throws {
    for isChangedBefore in [false, true] {
      let directory = try TemporaryDirectory(inMemory: true)
      let work = try TreeAtWork(directory.path)
      for path in ["d", "d/e", "z"] { try work.makeDirectory(path) }
      for (path, text) in [("f", "one"), ("g", "two"), ("d/x", "three"), ("o", "o")] {
        try work.save(path, text)
      }
      let first = try #require(try work.cut().head?.number)
      if isChangedBefore {
        for path in ["f", "g", "d/x"] { try work.save(path, "\(path) before") }
      } else {
        try work.save("a", "something to take")
      }
      var shown: [String: InodeStatus] = [:]
      func act() throws {
        try deed.done(in: work)
        shown = try work.statuses()
      }
      switch company {
      case .nobody: try act()
      case .cut, .merge:
        let other = company == .merge ? try work.others(["o": "theirs"], on: first) : nil
        var failure: (any Error)?
        _ = try work.versioner.transition(CutRequest(.command)) {
          transaction, head throws(StoreError) in
          do { try act() } catch { failure = error }
          guard let other else { return head }
          return try transaction.mergeSides([head, other].compactMap(\.self), live: head).outcome
        }
        if let failure { throw failure }
      }
      for turn in 0..<3 {
        for (path, status) in try work.statuses().sorted(by: { $0.key < $1.key }) {
          // Others changed it.
          if path == "o" || path.isEmpty, company == .merge { continue }
          #expect(status == shown[path], "\(path), \(isChangedBefore), after cut \(turn)")
        }
        try work.check()
        try work.cut()
      }
    }
  }
}

extension KeptStatusTests {
  /// What a program has seen of an inode.
  struct Seen: Hashable {
    var changed: Attributes.Time
    var extended: [[UInt8]: [UInt8]]
  }

  /// What programs have seen of all inodes, deed by deed.
  final class Known: Sendable {
    private let all = Monitor<[[InodeNumber: Seen]]>([])

    var count: Int { all.withLock { $0.count } }

    func note(_ work: TreeAtWork) throws {
      let seen = try work.seen()
      all.withLock { $0.append(seen) }
    }

    subscript(_ index: Int) -> [InodeNumber: Seen] { all.withLock { $0[min(index, $0.count - 1)] } }
  }

  /// Programs that do anything to few names, some of it during cuts and merges of a file that is none of theirs.
  private struct Life {
    let work: TreeAtWork
    var random: SeededRandom
    var steps: [String] = []
    /// Notes what is shown after each deed.
    var known: Known?
    private var others: VersionNumber
    private var count = 0

    init(_ directory: String, seed: UInt64) throws {
      // In some, programs go on before the rows of a version are written.
      work = try TreeAtWork(
        directory, longCut: seed % 2 == 0 ? Versioner.longCut : 1, isHeld: seed % 2 == 1)
      random = SeededRandom(seed: seed)
      try work.makeDirectory("others")
      try work.save("others/o", "o")
      others = try #require(try work.cut().head?.number)
    }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    private mutating func path() -> String {
      let names = ["a", "b", "c"]
      return (0...below(3)).map { _ in names[below(3)] }.joined(separator: "/")
    }

    /// Does something; what cannot be done is refused.
    mutating func act() throws {
      let (one, other, kind) = (path(), path(), below(16))
      count += 1
      steps.append("\(kind) \(one) \(other)")
      do {
        switch kind {
        case 0, 1: try work.makeDirectory(one)
        case 2, 3: try work.save(one, "\(count)")
        case 4: try work.save(one, "same")
        case 5: try work.unlink(one)
        case 6: try work.removeDirectory(one)
        case 7, 8, 9: try work.rename(one, other)
        case 10: try work.rename(one, other, .exchange)
        case 11: try work.link(one, other)
        case 12: try work.setMode(one, [0o600, 0o700, 0o644, 0o755][below(4)])
        case 13:
          var change = StatusChange()
          change.mtime = Attributes.Time(seconds: Int64(below(1000)), nanoseconds: 0)
          _ = try work.tree.setattr(work.number(one), change)
        case 14:
          // Rows lack the long ones.
          let value = [UInt8](repeating: UInt8(below(9)), count: [1, 2000][below(2)])
          try work.tree.setxattr(work.number(one), Array("user.\(below(2))".utf8), value)
        default: try work.tree.removexattr(work.number(one), Array("user.\(below(2))".utf8))
        }
      } catch is FSError {
        steps.removeLast()
      }
      try known?.note(work)
    }

    /// Makes a version, and returns what was shown before it was.
    mutating func transition(merging: Bool) throws -> [String: InodeStatus] {
      steps.append(merging ? "merge (" : "cut (")
      count += 1
      var other: VersionNumber?
      if merging {
        let version = try work.others(["others/o": "\(count)"], on: others)
        (other, others) = (version, version)
      }
      let result = Monitor<Result<[String: InodeStatus], any Error>?>(nil)
      var life = self
      _ = try work.versioner.transition(CutRequest(.command)) {
        transaction, head throws(StoreError) in
        let shown = Result {
          for _ in 0..<life.below(5) { try life.act() }
          return try life.work.statuses()
        }
        result.withLock { $0 = shown }
        guard let other else { return head }
        return try transaction.mergeSides([head, other].compactMap(\.self), live: head).outcome
      }
      self = life
      steps.append(")")
      let shown = try #require(result.withLock { $0 }).get()
      guard work.versioner.isShowing else { return shown }
      for _ in 0..<below(5) { try act() }
      steps.append("rows")
      defer { work.writeRows() }
      return try work.statuses()
    }
  }

  @Test(
    "A mode that a directory gets in a cut's window stays, though the cut makes the directory",
    arguments: [false, true])
  func modeDuringCut(isBusy: Bool) throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path)
    try work.save("o", "o")
    let first = try #require(try work.cut().head?.number)
    let other = try work.others(["o": "theirs"], on: first)
    var failure: (any Error)?
    func transition(
      to other: VersionNumber? = nil, _ body: @escaping () throws -> Void
    ) throws {
      _ = try work.versioner.transition(CutRequest(.command)) {
        transaction, head throws(StoreError) in
        do { try body() } catch { failure = error }
        guard let other, let head else { return head }
        return try transaction.mergeSides([head, other], live: head).outcome
      }
      if let failure { throw failure }
    }
    try transition(to: other) { try work.makeDirectory("d") }
    try transition {
      try work.setMode("d", 0o700)
      if isBusy { try work.makeDirectory("d/e") }
    }
    if !isBusy { try work.makeDirectory("d/e") }
    try work.cut()
    let head = try work.store.state().head.flatMap { try work.store.version($0) }
    let view = TreeView(map: work.store.map(try #require(head).map))
    guard case .directory(let entry)? = try view.find(path: Array("d".utf8)) else {
      Issue.record("the head has no directory")
      return
    }
    #expect(entry?.attributes.mode == 0o700)
    #expect(try work.tree.status(of: work.number("d")).mode & 0o7777 == 0o700)
    try work.check()
  }

  @Test("A long attribute that goes in a cut's window stays away, though the cut took a mode")
  func longRemovedDuringCut() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path)
    let name = Array("user.a".utf8)
    try work.makeDirectory("d")
    try work.tree.setxattr(work.number("d"), name, [UInt8](repeating: 1, count: 2000))
    try work.cut()
    try work.setMode("d", 0o700)
    let removed = Monitor<Result<Void, any Error>?>(nil)
    _ = try work.versioner.transition(CutRequest(.command)) { _, head throws(StoreError) in
      let result = Result<Void, any Error> { try work.tree.removexattr(work.number("d"), name) }
      removed.withLock { $0 = result }
      return head
    }
    try #require(removed.withLock { $0 }).get()
    for _ in 0..<2 {
      #expect(try work.tree.listxattr(work.number("d")) == [])
      try work.check()
      try work.cut()
    }
  }

  @Test("A file with a long attribute keeps its times when its directory moves")
  func longMoved() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path)
    try work.makeDirectory("d")
    try work.save("d/x", "x")
    let long = [UInt8](repeating: 1, count: 2000)
    try work.tree.setxattr(work.number("d/x"), Array("user.a".utf8), long)
    try work.cut()
    let shown = try work.tree.status(of: work.number("d/x"))
    try work.rename("d", "e")
    try work.cut()
    #expect(try work.tree.status(of: work.number("e/x")) == shown)
  }

  /// `LLVS_TEST_LIVES=3000`: the number of lives.
  private static let lives =
    UInt64(ProcessInfo.processInfo.environment["LLVS_TEST_LIVES"] ?? "") ?? 30

  @Test("Attributes and numbers stay what they were shown to be in random lives")
  func staysInLives() throws {
    for seed in Self.seeds {
      let directory = try TemporaryDirectory(inMemory: true)
      var life = try Life(directory.path, seed: seed)
      for _ in 0..<12 {
        for _ in 0..<6 { try life.act() }
        let merging = UInt64.random(in: 0..<2, using: &life.random) == 0
        let shown = try life.transition(merging: merging)
        let found = try life.work.statuses()
        let isEqual = Set(shown.keys).union(found.keys).sorted().allSatisfy { path in
          if path.hasPrefix("others") || shown[path] == found[path] { return true }
          Issue.record(
            """
            seed \(seed): \(path) was \(shown[path].map { "\($0)" } ?? "absent"), is \
            \(found[path].map { "\($0)" } ?? "absent"), after \(life.steps.joined(separator: "; "))
            """)
          return false
        }
        guard isEqual else { break }
        try life.work.check("seed \(seed)")
      }
    }
  }

  @Test("Attributes and numbers stay what they were shown to be if a kill ends a transition")
  func staysAfterKill() throws {
    DatabaseFaults.install()
    for seed in Self.seeds.prefix(4) {
      let directory = try TemporaryDirectory(inMemory: true)
      var life = try Life(directory.path, seed: seed)
      for _ in 0..<4 {
        for _ in 0..<6 { try life.act() }
        let images = try TemporaryDirectory(inMemory: true)
        let before = try life.work.statuses()
        let known = Known()
        try known.note(life.work)
        life.known = known
        let calls = Monitor<[Int]>([])
        let disk = try PowerDisk(directory.path) { disk, call, _ in
          guard [.write, .sync, .truncate, .rename].contains(call) else { return }
          let count = calls.withLock { calls in
            calls.append(known.count - 1)
            return calls.count
          }
          if count % 5 == seed % 5 { try? disk.image(at: images.file("\(count)"), .everything) }
        }
        let merging = UInt64.random(in: 0..<2, using: &life.random) == 0
        let shown = try life.transition(merging: merging)
        disk.stop()
        life.known = nil
        let noted = calls.withLock { $0 }
        for (index, deed) in noted.enumerated() where (index + 1) % 5 == Int(seed % 5) {
          let again = try TreeAtWork(images.file("\(index + 1)"))
          let opened = try again.statuses()
          let call = "seed \(seed), call \(index + 1) of \(noted.count)"
          let note = "\(call), after \(life.steps.joined(separator: "; "))"
          for (path, status) in opened.sorted(by: { $0.key < $1.key }) {
            guard !path.hasPrefix("others"), let old = before[path], old == shown[path] else {
              continue
            }
            #expect(status == old, "\(path), \(note)")
          }
          let seen = try again.seen()
          for (number, one) in seen {
            guard let old = known[deed][number] else { continue }
            #expect(one.changed >= old.changed, "the ctime of \(number), \(note)")
            let next = known[deed + 1][number]
            #expect(
              one.extended == old.extended || one.extended == next?.extended,
              "the attributes of \(number), \(note)")
          }
          try again.cut()
          try again.check(note)
          for (path, status) in try again.statuses().sorted(by: { $0.key < $1.key }) {
            #expect(status == opened[path], "\(path) at the next cut, \(note)")
          }
          #expect(try again.seen() == seen, "at the next cut, \(note)")
          for (number, one) in seen.sorted(by: { $0.key < $1.key }) {
            guard let name = one.extended.keys.min(by: { $0.lexicographicallyPrecedes($1) }) else {
              continue
            }
            try again.tree.removexattr(number, name)
          }
          let left = try again.seen()
          try again.cut()
          #expect(try again.seen() == left, "what was removed, \(note)")
        }
      }
    }
  }

  private static let seeds: [UInt64] = {
    let seed = ProcessInfo.processInfo.environment["LLVS_TEST_SEED"].flatMap { UInt64($0) }
    return seed.map { [$0] } ?? Array(0..<lives)
  }()
}

extension TreeAtWork {
  /// What programs see of all inodes.
  fileprivate func seen() throws -> [InodeNumber: KeptStatusTests.Seen] {
    var seen: [InodeNumber: KeptStatusTests.Seen] = [:]
    for one in try shown().values {
      var extended: [[UInt8]: [UInt8]] = [:]
      for name in try tree.listxattr(one.number).split(separator: 0) {
        extended[Array(name)] = try tree.getxattr(one.number, Array(name))
      }
      seen[one.number] = KeptStatusTests.Seen(
        changed: try tree.status(of: one.number).ctime, extended: extended)
    }
    return seen
  }

  fileprivate func setMode(_ path: String, _ mode: UInt32) throws {
    var change = StatusChange()
    change.mode = mode
    _ = try tree.setattr(number(path), change)
  }
}
