import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Directories of many files that are made, moved, listed and removed while versions are made and merged.
@Suite(.timeLimit(.minutes(2)))
struct FilledDirectoryTests {
  private static let files = 30

  /// Fills `new`, moves it to `old`, and removes that, as `rm -rf` does.
  private struct Life {
    let work: TreeAtWork
    var random: SeededRandom
    private var others: VersionNumber
    private var count = 0
    /// The next files of `new`; nil if there is no such directory.
    private var made: Int?
    /// The handle of a program that lists `old`, the last cookie, and the names so far.
    private var listing: (handle: DirectoryListing, cookie: EntryCookie, names: [FileName])?

    init(_ directory: String, seed: UInt64) throws {
      work = try TreeAtWork(
        directory, longCut: seed % 2 == 0 ? Versioner.longCut : 1, isHeld: seed % 2 == 1)
      random = SeededRandom(seed: seed)
      for name in ["fill", "others"] { try work.makeDirectory(name) }
      try work.save("others/o", "o")
      others = try #require(try work.cut().head?.number)
    }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    /// Looks at everything, as the kernel does that goes on knowing it.
    private func look() throws {
      for path in try work.shown().keys where path.hasPrefix("fill/") {
        let place = try work.place(path)
        _ = try work.tree.lookup(place.directory, place.name)
      }
    }

    /// Goes on with what the program does.
    mutating func act() throws {
      if below(4) == 0 { try look() }
      if let made, made < FilledDirectoryTests.files {
        for number in made..<min(made + 1 + below(9), FilledDirectoryTests.files) {
          try work.save("fill/new/\(number)", "\(number)")
          self.made = number + 1
        }
      } else if listing != nil {
        try list()
      } else if (try? work.number("fill/old")) != nil {
        let handle = try work.tree.openDirectory(work.number("fill/old"))
        listing = (handle, .start, [])
      } else {
        if made != nil { try work.rename("fill/new", "fill/old") }
        try work.makeDirectory("fill/new")
        made = 0
      }
    }

    /// Reads a page; behind the last one removes everything that was listed.
    private mutating func list() throws {
      guard var open = listing else { return }
      let page = try work.tree.list(open.handle, after: open.cookie)
      for entry in page.prefix(1 + below(12)) {
        open.names.append(entry.name)
        open.cookie = entry.cookie
      }
      listing = open
      guard page.isEmpty else { return }
      listing = nil
      let names = open.names.map { $0.text }.sorted()
      #expect(names == (0..<FilledDirectoryTests.files).map(String.init).sorted())
      #expect(try work.number("fill/old") == open.handle.directory)
      for name in names { try work.unlink("fill/old/\(name)") }
      try work.removeDirectory("fill/old")
    }

    /// Makes a version, with or without a merge, while the program goes on.
    mutating func transition() throws {
      count += 1
      var other: VersionNumber?
      if below(2) == 0 {
        // The other machine may have the head by then.
        let base = below(2) == 0 ? try work.store.state().head : others
        let version = try work.others(["others/o": "\(count)"], on: base)
        (other, others) = (version, version)
      }
      let result = Monitor<Result<Life, any Error>?>(nil)
      let life = self
      _ = try work.versioner.transition(CutRequest(.command)) {
        transaction, head throws(StoreError) in
        let acted = Result {
          var life = life
          for _ in 0..<life.below(4) { try life.act() }
          return life
        }
        result.withLock { $0 = acted }
        guard let other else { return head }
        return try transaction.mergeSides([head, other].compactMap(\.self), live: head).outcome
      }
      self = try #require(result.withLock { $0 }).get()
      if work.versioner.isShowing {
        for _ in 0..<below(4) { try act() }
        work.writeRows()
      }
      work.versioner.awaitShown()
    }
  }

  @Test(
    "A listing meets each file of a moved directory once, and the directory can be removed then",
    arguments: 0..<4 as Range<UInt64>)
  func removed(seed: UInt64) throws {
    let directory = try TemporaryDirectory(inMemory: true)
    var life = try Life(directory.path, seed: seed)
    for _ in 0..<40 {
      for _ in 0..<Int.random(in: 0..<6, using: &life.random) { try life.act() }
      try life.transition()
    }
    try life.work.check("seed \(seed)")
  }
}
