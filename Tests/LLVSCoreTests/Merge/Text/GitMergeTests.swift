import Foundation
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Text merges beside those of `git merge-file`, an implementation of its own.
///
/// Both find where lines differ, and where a line is there several times there are several ways to say so.
/// So texts here have lines of their own between any two changes: then both must come to the same.
/// `LLVS_TEST_TEXTS` says how many are tried.
@Suite("Text merges beside git", .timeLimit(.minutes(10)))
struct GitMergeTests {
  private static let git = "/usr/bin/git"
  private static let hasGit = (try? FileSystem.exists(git)) == true

  private struct Texts {
    var base: [String] = []
    var first: [String] = []
    var second: [String] = []
  }

  private func write(_ lines: [String], _ end: String, _ last: Bool) -> [UInt8] {
    var text = lines.joined(separator: end)
    if last, !lines.isEmpty { text += end }
    return Array(text.utf8)
  }

  /// The merge that git makes; nil where it finds a conflict.
  private func merged(
    _ base: [UInt8], _ first: [UInt8], _ second: [UInt8], _ directory: TemporaryDirectory
  ) throws -> [UInt8]? {
    for (name, bytes) in [("base", base), ("first", first), ("second", second)] {
      try Data(bytes).write(to: URL(fileURLWithPath: directory.file(name)))
    }
    let code = try ChildProcess.run(
      [
        "/bin/sh", "-c", #"cd "$1" && exec git merge-file -p first base second > out 2> /dev/null"#,
        "sh",
      ]
        + [directory.path])
    guard code < 128 else { throw StoreError.invalid("git merge-file ended with \(code)") }
    return code == 0 ? try FileSystem.read(directory.file("out"), atMost: 1 << 24) : nil
  }

  private func texts(_ random: inout SeededRandom) -> Texts {
    var texts = Texts()
    var serial = 0
    func line() -> String {
      serial += 1
      return "line \(serial) \(String(random.next(), radix: 36))"
    }
    for _ in 0..<Int.random(in: 1...30, using: &random) {
      let block = (0..<Int.random(in: 0...3, using: &random)).map { _ in line() }
      var (a, b) = (block, block)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: a = []
      case 1: b = []
      case 2: a.append(line())
      case 3: b.insert(line(), at: 0)
      case 4: a = (0..<Int.random(in: 1...200, using: &random)).map { _ in line() }
      case 5: b = (0..<Int.random(in: 1...3, using: &random)).map { _ in line() }
      case 6:
        a = [line()]
        b = a
      case 7:
        a.append(line())
        b.append(line())
      default: break
      }
      // Without a line between, what is beside each other clashes in both.
      let mark = Int.random(in: 0..<8, using: &random) == 0 ? [] : [line()]
      texts.base += block + mark
      texts.first += a + mark
      texts.second += b + mark
    }
    return texts
  }

  @Test("the same texts merge, and to the same bytes", .enabled(if: hasGit, "git is not here"))
  func random() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    var count = (clean: 0, clashing: 0)
    for seed in FleetPlay.seeds("LLVS_TEST_TEXTS", otherwise: 60) {
      var random = SeededRandom(seed: seed)
      let texts = texts(&random)
      let end = Int.random(in: 0..<4, using: &random) == 0 ? "\r\n" : "\n"
      let base = write(texts.base, end, Int.random(in: 0..<3, using: &random) > 0)
      let first = write(texts.first, end, Int.random(in: 0..<3, using: &random) > 0)
      let second = write(texts.second, end, Int.random(in: 0..<3, using: &random) > 0)
      let theirs = try merged(base, first, second, directory)
      let ours = try #require(TextMerge.merged(base: base, older: first, newer: second))
      if let theirs {
        #expect(ours == MergedContent(bytes: theirs, hasClash: false), "seed \(seed)")
        count.clean += 1
      } else {
        // Git sees a conflict where lines beside each other were changed, too; no line that one side alone
        // added or changed is missing here.
        count.clashing += 1
        if !ours.hasClash {
          let held = Set(
            String(decoding: ours.bytes, as: UTF8.self).split(whereSeparator: \.isNewline))
          for line in Set(texts.first + texts.second).subtracting(texts.base) {
            #expect(held.contains(line[...]), "seed \(seed)")
          }
        }
      }
    }
    // Neither kind is missing, or the test shows nothing.
    #expect(
      ProcessInfo.processInfo.environment["LLVS_TEST_SEED"] != nil
        || (count.clean > 5 && count.clashing > 5), "\(count)")
  }

  @Test(
    "texts that differ by thousands of lines merge as git merges them",
    .enabled(if: hasGit, "git is not here"))
  func large() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    func lines(_ range: Range<Int>, _ name: String) -> [String] { range.map { "\(name) \($0)" } }
    let base = lines(0..<20_000, "line")
    var first = base
    first[10] = "first"
    // More insertions than the shortest script is looked for, in the middle and at the end.
    first.insert(contentsOf: lines(0..<6000, "new"), at: 9000)
    first += lines(0..<6000, "last")
    var second = base
    second[100] = "second"
    second.removeSubrange(15_000..<19_000)
    let texts = [base, first, second].map { write($0, "\n", true) }
    let theirs = try #require(try merged(texts[0], texts[1], texts[2], directory))
    #expect(TextMerge.merged(base: texts[0], older: texts[1], newer: texts[2])?.bytes == theirs)
    // A line against a hundred thousand.
    let short = write(["a"], "\n", true)
    let long = write(["a"] + lines(0..<100_000, "x"), "\n", true)
    let before = write(["b", "a"], "\n", true)
    #expect(
      TextMerge.merged(base: short, older: long, newer: before)?.bytes
        == (try merged(short, long, before, directory)))
  }

  @Test("what has nothing in common is looked at in bounded time")
  func hopeless() {
    var random = SeededRandom(seed: 5)
    // Few different lines, in no order: as many ways to align them as there can be.
    func noise() -> [UInt8] {
      write((0..<12_000).map { _ in "\(Int.random(in: 0..<40, using: &random))" }, "\n", true)
    }
    let (base, first) = (noise(), noise())
    #expect(TextMerge.merged(base: base, older: first, newer: base)?.bytes == first)
    #expect(TextMerge.merged(base: base, older: first, newer: noise())?.hasClash == true)
  }
}
