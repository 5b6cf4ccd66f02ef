import Foundation
import TestSupport
import Testing
import TreeNames

@Suite("Ignore patterns")
struct IgnorePatternsTests {
  private func ignores(_ text: String, _ path: String, directory: Bool = false) -> Bool {
    IgnorePatterns(Array(text.utf8)).ignores(path: Array(path.utf8), isDirectory: directory)
  }

  @Test(
    "editors' litter is ignored",
    arguments: [
      ".a.swp", "d/.a.txt.swo", "x/.b.swx", ".swp", ".c.swpx", "a~", "d/e/f.txt~", "#a#", ".#a",
      ".a.kate-swp", ".goutputstream-X1Y2Z3", ".~lock.doc.odt#", "~$doc.docx", ".nfs0000123",
      ".fuse_hidden0001", "a.c___jb_tmp___", ".a.un~",
    ])
  func litter(_ path: String) {
    #expect(IgnorePatterns.defaults.ignores(path: Array(path.utf8)))
  }

  @Test(
    "files of people are not",
    arguments: [
      "a", "a.txt", ".name.Xa12Bc", "sedatives", "sedABC123", "4913", "slot.save", ".gitignore",
      "a#b", "#a", "a#", "swp", "a.swp", "x.swift", ".swift", ".a.swq.txt", "lock", ".~lock.a",
      "d/.git/config", "README", "~", "a~b", ".hidden", "é", ".nf", "b.tmp",
    ])
  func people(_ path: String) {
    #expect(IgnorePatterns.defaults.ignores(path: Array(path.utf8)) == (path == "~"))
  }

  @Test(
    "lines mean what they mean to git",
    arguments: [
      ("*.o", "a/b.o", true), ("*.o", "b.oo", false), ("/a", "a", true), ("/a", "b/a", false),
      ("a/b", "a/b", true), ("a/b", "c/a/b", false), ("**/b", "b", true), ("**/b", "x/y/b", true),
      ("a/**", "a/x/y", true), ("a/**", "a", false), ("a/**/b", "a/b", true),
      ("a/**/b", "a/x/y/b", true), ("a/**/b", "a/x/y/c", false), ("a/*/b", "a/x/y/b", false),
      ("build/", "build", false), ("build/", "build/x", true), ("build/", "s/build/x", true),
      ("*.a\n!k.a", "k.a", false), ("*.a\n!k.a", "l.a", true), ("!k.a\n*.a", "k.a", true),
      ("d/\n!d/k", "d/k", true), ("#x", "#x", false), ("\\#x", "#x", true), ("\\!x", "!x", true),
      ("a\\*", "a*", true), ("a\\*", "ab", false), ("a ", "a", true), ("a\\ ", "a ", true),
      ("[a-c]x", "bx", true), ("[!a-c]x", "bx", false), ("[^a]x", "bx", true), ("[]]", "]", true),
      ("[[:digit:]]x", "1x", true), ("a?c", "abc", true), ("a?c", "a/c", false), ("*", "x", true),
      ("a*b*c", "aXbYbZc", true), ("a*b*c", "aXbYbZ", false), ("a\r", "a", true),
      ("foo**bar", "foobazbar", true), ("**", "a/b", true), ("a/**/**/b", "a/b", true),
      ("x/[ab]/y", "x/b/y", true), ("**/a/**/z", "q/a/r/a/s/z", true),
    ])
  func git(_ text: String, _ path: String, _ expected: Bool) {
    #expect(ignores(text, path) == expected)
  }

  @Test("lines that cannot be read are named and passed over")
  func faults() {
    let patterns = IgnorePatterns(Array("a\n[x\n/\nb\\\n*.c".utf8))
    #expect(patterns.faults.map(\.line) == [2, 3, 4])
    #expect(patterns.ignores(path: Array("z.c".utf8)))
    #expect(!patterns.ignores(path: Array("[x".utf8)))
  }

  @Test("bytes that are not text match as bytes")
  func bytes() {
    let patterns = IgnorePatterns([0xFF, UInt8(ascii: "*"), 0xFE])
    #expect(patterns.ignores(path: [0xFF, 0x80, 0xFE]))
    #expect(!patterns.ignores(path: [0xFF, 0x80]))
  }

  @Test("more lines than a word has bits: the last that matches decides")
  func many() {
    var text = ""
    for number in 0..<200 { text += "f\(number)\n" }
    text += "!f7\n"
    #expect(ignores(text, "f150"))
    #expect(!ignores(text, "f7"))
    #expect(!ignores(text, "f200"))
  }

  @Test("what git itself says of random patterns", .timeLimit(.minutes(1)))
  func asGit() throws {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent(
      "ignore-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    guard (try? run(["git", "init", "-q", "."], in: root, "")) != nil else { return }
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let pieces = ["a", "b", "*", "?", "/", "**", "[ab]", "[!a]", "a*", "!", "/**/", "**/", "ab"]
    for _ in 0..<40 {
      let lines = (0..<4).map { _ in
        (0..<Int.random(in: 1...4, using: &random)).map { _ in
          pieces[Int.random(in: 0..<pieces.count, using: &random)]
        }.joined()
      }
      // Runs of slashes, and of stars that are no component of their own, git reads one way or another.
      let text = lines.filter { line in
        !line.contains("//") && line != "!"
          && line.split(separator: "/").allSatisfy { $0 == "**" || !$0.contains("**") }
      }
      .filter { !$0.dropFirst().contains("!") || $0.contains("[!") }.joined(separator: "\n")
      let paths = (0..<60).map { _ in
        (0..<Int.random(in: 1...4, using: &random)).map { _ in
          ["a", "b", "ab", "ba", "aab"][Int.random(in: 0..<5, using: &random)]
        }.joined(separator: "/")
      }
      try text.write(
        to: root.appendingPathComponent(".gitignore"), atomically: false, encoding: .utf8)
      let unique = Array(Set(paths)).sorted()
      let said = try run(
        ["git", "check-ignore", "--no-index", "--stdin"], in: root, unique.joined(separator: "\n"))
      let ignored = Set(said.split(separator: "\n").map(String.init))
      for path in unique {
        #expect(
          ignores(text, path) == ignored.contains(path), "\(lines) \(path), seed \(seed)")
      }
    }
  }

  private func run(_ words: [String], in directory: URL, _ input: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.currentDirectoryURL = directory
    let (into, out) = (Pipe(), Pipe())
    process.standardInput = into
    process.standardOutput = out
    process.standardError = FileHandle.nullDevice
    try process.run()
    into.fileHandleForWriting.write(Data(input.utf8))
    try into.fileHandleForWriting.close()
    let data = out.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus <= 1 else { throw CocoaError(.executableNotLoadable) }
    return String(decoding: data, as: UTF8.self)
  }
}
