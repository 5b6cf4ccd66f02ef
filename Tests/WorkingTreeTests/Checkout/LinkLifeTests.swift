import Foundation
import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames
import WorkingTree

@testable import TreeSupport

/// Random work with hard links over a real store. Each failure names its seed; `LLVS_TEST_SEED` runs that one alone,
/// and `LLVS_TEST_LIVES` says how many run.
@Suite(.timeLimit(.minutes(10)))
struct LinkLifeTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 20)
  }()

  @Test(
    "Link counts are the numbers of names, and open files stay theirs, through versions and kills")
  func links() throws {
    for seed in Self.seeds {
      let directory = try TemporaryDirectory(inMemory: true)
      var life = LinkLife(seed: seed, directory.path)
      do { try life.run(120) } catch {
        Issue.record("seed \(seed): \(error)\n\(life.log.joined(separator: "; "))")
      }
    }
  }
}

private struct LinkLife {
  struct Fault: Error, CustomStringConvertible { var description: String }

  var random: SeededRandom
  let directory: String
  /// The file that each name leads to, by a number of the test's.
  var names: [String: Int] = [:]
  var files = 0
  /// The inode number of each file, once it was asked for.
  var numbers: [Int: InodeNumber] = [:]
  /// Files that a program has open.
  var open: [(handle: HandleNumber, number: InodeNumber, file: Int)] = []
  var starts = 0
  var log: [String] = []

  init(seed: UInt64, _ directory: String) {
    random = SeededRandom(seed: seed)
    self.directory = directory
  }

  private mutating func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  mutating func run(_ steps: Int) throws {
    try FileSystem.makeDirectory("\(directory)/0")
    var work = try TreeAtWork("\(directory)/0")
    try work.tree.setIgnore(.defaults)
    for name in ["a", "b"] { try work.makeDirectory(name) }
    for _ in 0..<steps {
      if below(15) == 0 {
        log.append("kill")
        open = []
        starts += 1
        try copyTree("\(directory)/\(starts - 1)", to: "\(directory)/\(starts)")
        work = try TreeAtWork("\(directory)/\(starts)")
        try work.tree.setIgnore(.defaults)
      } else {
        try step(work)
      }
      try check(work)
    }
  }

  private mutating func step(_ work: TreeAtWork) throws {
    let new = "\(["a", "b"][below(2)])/n\(below(8))\(below(4) == 0 ? "~" : "")"
    let known = names.keys.sorted()
    let old = known.isEmpty ? nil : known[below(known.count)]
    guard let old, below(6) > 0 else {
      log.append("save \(new)")
      try work.save(new, "\(below(1000))")
      if names[new] == nil {
        files += 1
        names[new] = files
      }
      return
    }
    switch below(14) {
    case 11:
      log.append("open \(old)")
      let (number, handle) = try work.open(old)
      if let file = names[old] { open.append((handle, number, file)) }
    case 12...13:
      guard !open.isEmpty else { return }
      let one = open[below(open.count)]
      log.append("write \(names.filter { $0.value == one.file }.keys.sorted())")
      try work.write("\(below(1000))", through: one.handle, at: UInt64(below(9)))
      if below(2) == 0 { try work.tree.flush(one.handle) }
    case 0...3:
      guard names[new] == nil else { return }
      log.append("link \(old) \(new)")
      try work.link(old, new)
      names[new] = names[old]
    case 4...5:
      log.append("unlink \(old)")
      try work.unlink(old)
      names[old] = nil
    case 6...8:
      // The kernel does nothing where both are names of one file.
      guard names[new] == nil || names[new] != names[old] else { return }
      log.append("rename \(old) \(new)")
      try work.rename(old, new)
      names[new] = names.removeValue(forKey: old)
    default:
      log.append("cut")
      try work.cut()
    }
  }

  private mutating func check(_ work: TreeAtWork) throws {
    let shown = try work.shown().filter { $0.value.text != nil }
    guard Set(shown.keys) == Set(names.keys) else {
      throw Fault(description: "shown are \(shown.keys.sorted()), not \(names.keys.sorted())")
    }
    for (name, file) in names {
      let mates = names.filter { $0.value == file }.keys.sorted()
      let number = try work.number(name)
      if let before = numbers.updateValue(number, forKey: file), before != number {
        throw Fault(description: "\(name) was \(before.rawValue), is \(number.rawValue)")
      }
      let links = try work.tree.status(of: number).links
      guard links == mates.count else {
        throw Fault(description: "\(name) has \(links) links, not \(mates)")
      }
    }
    for (_, number, file) in open {
      guard try names.allSatisfy({ try $0.value != file || work.number($0.key) == number }) else {
        throw Fault(description: "file \(file) is not the open one at its names")
      }
    }
    try work.check()
  }
}
