import Foundation
import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Random work with patterns over a real store. Each failure names its seed; `LLVS_TEST_SEED` runs that one alone,
/// and `LLVS_TEST_LIVES` says how many run.
@Suite("Lives with patterns", .timeLimit(.minutes(10)))
struct PatternLifeTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 20)
  }()

  @Test("What was scratch is in no version, also without its pattern, until it is moved or tracked")
  func secrets() throws {
    for seed in Self.seeds {
      let directory = try TemporaryDirectory(inMemory: true)
      var life = PatternLife(seed: seed, directory.path)
      do { try life.run(80) } catch {
        Issue.record("seed \(seed): \(error)\n\(life.log.joined(separator: "; "))")
      }
    }
  }
}

private struct PatternLife {
  struct Fault: Error, CustomStringConvertible { var description: String }

  private static let directories = ["", "p/", "q/"]
  private static let names = ["a.env", "b.key", "keep.env", "f", "build"]
  private static let lines = ["*.env", "!keep.env", "*.key", "build/", "/p/f", "/f", ".llvsignore"]

  var random: SeededRandom
  let directory: String
  /// The texts of files that were scratch.
  var secrets: Set<String> = []
  /// The texts that a version has.
  var versioned: Set<String> = []
  var first: VersionNumber?
  var texts = 0
  var starts = 0
  var log: [String] = []

  init(seed: UInt64, _ directory: String) {
    random = SeededRandom(seed: seed)
    self.directory = directory
  }

  private mutating func one<T>(of all: [T]) -> T { all[Int(random.next() % UInt64(all.count))] }
  private mutating func chance(_ n: UInt64) -> Bool { random.next() % n == 0 }

  private mutating func patterns() -> String {
    var lines: [String] = []
    for line in Self.lines where chance(2) { lines.append(line + "\n") }
    return lines.joined()
  }

  private mutating func text() -> String {
    texts += 1
    return "text \(texts)"
  }

  mutating func run(_ steps: Int) throws {
    try FileSystem.makeDirectory("\(directory)/0")
    var work = try TreeAtWork("\(directory)/0")
    for name in ["p", "q"] { try work.makeDirectory(name) }
    try work.cut()
    first = try work.store.state().head
    for step in 0..<steps {
      try act(&work)
      try learn(work)
      if step % 8 == 7 || chance(6) {
        try work.cut()
        log.append("cut")
        try work.check("\(log)")
      }
      try expectNone(work)
    }
  }

  /// Notes what is scratch now.
  private mutating func learn(_ work: TreeAtWork) throws {
    for (path, shown) in try work.shown() where shown.text?.hasPrefix("text") ?? false {
      guard let text = shown.text, !versioned.contains(text) else { continue }
      let state = try work.tree.statedPlace(of: shown.number).state
      if state == .scratch, !path.contains("%llvs%") { secrets.insert(text) }
    }
  }

  private mutating func expectNone(_ work: TreeAtWork) throws {
    for case (let path, let text?) in try work.recordedTexts() {
      if secrets.contains(text) { throw Fault(description: "\(path) has \(text)") }
      versioned.insert(text)
    }
  }

  private mutating func act(_ work: inout TreeAtWork) throws {
    let folder = one(of: Self.directories)
    let file = folder + ".llvsignore"
    let path = folder + one(of: Self.names)
    let shown = try work.texts()
    // What a call refuses is no step.
    func attempt(_ body: () throws -> Void) { _ = try? body() }
    switch random.next() % 16 {
    case 0...4:
      let (name, text) = (path.hasSuffix("build") ? path + "/o" : path, text())
      if path.hasSuffix("build"), shown[path] == nil { attempt { try work.makeDirectory(path) } }
      log.append("\(name)=\(text)")
      if chance(3) {
        attempt {
          try work.save(folder + "new", text)
          try work.rename(folder + "new", name)
        }
      } else {
        attempt { try work.save(name, text) }
      }
    case 5, 6, 7:
      let text = patterns()
      log.append("\(file)=\(text.split(separator: "\n"))")
      if chance(2) {
        attempt {
          try work.save("tmp", text)
          try work.rename("tmp", file)
        }
      } else {
        attempt { try work.save(file, text) }
      }
    case 8:
      log.append("rm \(file)")
      attempt { try work.unlink(file) }
    case 9:
      let other = one(of: Self.directories) + one(of: [".llvsignore", "kept"])
      let mode: RenameMode = chance(2) ? .exchange : .replacing
      log.append("\(mode) \(file) \(other)")
      attempt { try work.rename(file, other, mode) }
    case 10:
      log.append("open \(file)")
      attempt {
        let (_, handle) = try work.open(file, emptying: true)
        try work.cut()
        try work.write("*.env\n", through: handle)
        try work.close(handle)
      }
    case 11:
      let text = chance(3) ? nil : patterns()
      log.append("others' \(file)=\(text ?? "-")")
      try work.merge(try work.others([file: text, folder + "theirs": self.text()]))
    case 12:
      guard let first, chance(2) else { return }
      let head = try work.store.state().head
      log.append("there and back")
      try work.go(to: first)
      try learn(work)
      try expectNone(work)
      if let head, chance(2) { try work.go(to: head) }
    case 13:
      let patterns = patterns()
      log.append("own \(patterns.split(separator: "\n"))")
      try work.tree.setIgnore(IgnorePatterns(Array(patterns.utf8)))
    case 14:
      starts += 1
      log.append("mount")
      let ignore = work.tree.ignore
      try copyTree("\(directory)/\(starts - 1)", to: "\(directory)/\(starts)")
      work = try TreeAtWork("\(directory)/\(starts)", ignore: ignore)
    default:
      guard chance(2) else {
        // A person decides.
        guard let tracked = try work.tree.scratchWithoutPattern().first else { return }
        log.append("track \(tracked)")
        forget(String(decoding: tracked.bytes, as: UTF8.self), shown)
        return try work.tree.track(tracked)
      }
      let to = one(of: Self.directories) + one(of: Self.names)
      guard path != to, shown[path] != nil else { return }
      log.append("mv \(path) \(to)")
      forget(path, shown)
      attempt { try work.rename(path, to) }
    }
  }

  /// Forgets what was scratch at a path and below.
  private mutating func forget(_ path: String, _ shown: [String: String?]) {
    for (name, text) in shown where name == path || name.hasPrefix(path + "/") {
      if let text { secrets.remove(text) }
    }
  }
}
