import Foundation
import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Random lives of directories that a program makes, moves, exchanges, empties into new ones and removes, while
/// versions are made. No other machine changes the tree, so each directory keeps its number and its links.
@Suite(.timeLimit(.minutes(10)))
struct MovedDirectoryLifeTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 24)
  }()

  private final class Life {
    let work: TreeAtWork
    var random: SeededRandom
    private var expected: [String: InodeNumber] = [:]
    private(set) var log: [String] = []

    init(_ path: String, seed: UInt64, isLate: Bool) throws {
      work = try TreeAtWork(path, longCut: isLate ? 0 : .max, isHeld: isLate)
      random = SeededRandom(seed: seed)
    }

    private func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    /// A path of up to three names, of directories that exist but for the last.
    private func pick() -> String {
      let paths = expected.keys.filter { $0.split(separator: "/").count < 3 }.sorted()
      let above = below(3) == 0 || paths.isEmpty ? "" : paths[below(paths.count)] + "/"
      return above + ["a", "b", "c"][below(3)]
    }

    private func move(_ from: String, _ to: String) throws {
      log.append("mv \(from) \(to)")
      try work.rename(from, to)
      expected[to] = nil
      for (path, number) in expected where path == from || path.hasPrefix(from + "/") {
        expected[path] = nil
        expected[to + path.dropFirst(from.count)] = number
      }
    }

    private func make(_ path: String) throws {
      log.append("mkdir \(path)")
      try work.makeDirectory(path)
      expected[path] = try work.number(path)
    }

    private func remove(_ path: String) throws {
      log.append("rmdir \(path)")
      try work.removeDirectory(path)
      expected[path] = nil
    }

    private func children(of path: String) -> [String] {
      expected.keys.filter {
        $0.hasPrefix(path + "/") && !$0.dropFirst(path.count + 1).contains("/")
      }.sorted()
    }

    /// The steps of one thing that a program does.
    private func steps() -> [() throws -> Void] {
      let (one, other) = (pick(), pick())
      switch below(5) {
      case 0: return [{ [self] in if expected[one] == nil { try make(one) } }]
      case 1:
        return [
          { [self] in if expected[one] != nil, children(of: one).isEmpty { try remove(one) } }
        ]
      case 2:
        return [
          { [self] in
            guard expected[one] != nil, !other.hasPrefix(one), !one.hasPrefix(other),
              expected[other] == nil || children(of: other).isEmpty
            else { return }
            try move(one, other)
          }
        ]
      default:
        guard expected[one] != nil, expected["o"] == nil else { return [] }
        return [{ [self] in try move(one, "o") }, { [self] in try make(one) }]
          + children(of: one).map { child in
            let name = child.dropFirst(one.count + 1)
            return { [self] in try move("o/\(name)", child) }
          } + [{ [self] in try remove("o") }]
      }
    }

    private var open: [() throws -> Void] = []

    private func act() throws {
      if open.isEmpty { open = steps() }
      if !open.isEmpty { try open.removeFirst()() }
      // The kernel knows what it looked up.
      for path in expected.keys.sorted() where below(3) == 0 {
        let place = try work.place(path)
        _ = try work.tree.lookup(place.directory, place.name)
      }
    }

    private func check(_ when: String) throws {
      let shown = try work.shown().mapValues(\.number)
      guard shown == expected else {
        throw LifeFault(
          "\(when): \(shown.sorted { $0.key < $1.key }) in place of \(expected.sorted { $0.key < $1.key })"
        )
      }
      for (path, number) in expected {
        let links = try work.tree.status(of: number).links
        guard links == 2 + children(of: path).count else {
          throw LifeFault("\(when): \(path) has \(links) links")
        }
      }
    }

    func run(_ cuts: Int) throws {
      for _ in 0..<cuts {
        for _ in 0..<below(8) { try act() }
        try check("before")
        log.append("cut (")
        var failure: (any Error)?
        _ = try work.versioner.transition(CutRequest(.command)) { [self] (_, head) in
          do { for _ in 0..<below(4) { try act() } } catch { failure = error }
          return head
        }
        if let failure { throw failure }
        log.append("|")
        for _ in 0..<below(4) { try act() }
        work.writeRows()
        log.append(")")
        try check("after")
        try work.check()
      }
    }
  }

  @Test("Directories keep their numbers, names and links", arguments: [false, true])
  func lives(isLate: Bool) throws {
    for seed in Self.seeds {
      let directory = try TemporaryDirectory(inMemory: true)
      let life = try Life(directory.path, seed: seed, isLate: isLate)
      do { try life.run(40) } catch {
        Issue.record("seed \(seed): \(error)\n\(life.log.joined(separator: "; "))")
      }
    }
  }
}
