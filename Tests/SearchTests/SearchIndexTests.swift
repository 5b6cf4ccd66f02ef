import LLVSCore
import Platform
import Search
import TestSupport
import Testing

@Suite("The index of words", .timeLimit(.minutes(2)))
struct SearchIndexTests {
  private let place: SearchedStore

  init() throws { place = try SearchedStore() }

  private var path: String { "\(place.store.path)/search.sqlite" }

  @Test("an index that is damaged or missing is made anew")
  func damaged() throws {
    try place.write(["a": "some words"])
    #expect(try place.found("words") == ["a"])
    try FileSystem.replace(path, with: Array("no database".utf8))
    for suffix in ["-wal", "-shm"] { try? FileSystem.unlink(path + suffix) }
    #expect(try place.found("words") == ["a"])
    for suffix in ["", "-wal", "-shm"] { try? FileSystem.unlink(path + suffix) }
    #expect(try place.found("words") == ["a"])
  }

  @Test("an index that is cut off at any length is made anew")
  func cutOff() throws {
    try place.write(
      Dictionary(uniqueKeysWithValues: (0..<50).map { ("f\($0)", "some words \($0)") }))
    #expect(try place.found("words").count == 50)
    let whole = try FileSystem.read(path, atMost: 1 << 26)
    for length in stride(from: 0, through: whole.count, by: max(1, whole.count / 40)) {
      for suffix in ["-wal", "-shm"] { try? FileSystem.unlink(path + suffix) }
      try FileSystem.replace(path, with: Array(whole.prefix(length)))
      #expect(try place.found("words").count == 50, "cut to \(length)")
    }
  }

  @Test("a flipped byte of a page is found, or makes no difference")
  func flipped() throws {
    try place.write(
      Dictionary(uniqueKeysWithValues: (0..<50).map { ("f\($0)", "some words \($0)") }))
    #expect(try place.found("words").count == 50)
    let whole = try FileSystem.read(path, atMost: 1 << 26)
    var random = SeededRandom(seed: 7)
    for _ in 0..<40 {
      var bytes = whole
      let at = Int.random(in: 0..<bytes.count, using: &random)
      bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      for suffix in ["-wal", "-shm"] { try? FileSystem.unlink(path + suffix) }
      try FileSystem.replace(path, with: bytes)
      #expect(try place.found("words").count == 50, "flipped at \(at)")
    }
  }

  @Test("the index of another store is not believed")
  func foreign() throws {
    try place.write(["a": "ant"])
    #expect(try place.found("ant") == ["a"])
    let other = try SearchedStore()
    try other.write(["b": "bee"])
    try FileSystem.replace(
      "\(other.store.path)/search.sqlite", with: try FileSystem.read(path, atMost: 1 << 26))
    #expect(try other.found("bee") == ["b"])
    #expect(try other.found("ant").isEmpty)
  }

  @Test("catching up that was interrupted leaves no row of a version that is not the head")
  func interrupted() throws {
    try place.write(["a": "ant"])
    #expect(try place.found("ant") == ["a"])
    // Enough files that a transaction ends before the last.
    let big = String(repeating: "filler ", count: 700_000)
    try place.write(
      Dictionary(uniqueKeysWithValues: (0..<12).map { ("b\($0)", "\(big) \($0)") })
        .merging(["a": "bee"]) { $1 })
    var steps = 0
    let index = try SearchIndex(
      of: place.store,
      isCancelled: {
        steps += 1
        return steps == 12
      })
    #expect(throws: StoreError.self) { try index.catchUp() }
    try place.write(
      Dictionary(uniqueKeysWithValues: (0..<12).map { ("b\($0)", nil as String?) })
        .merging(["a": "ant"]) { $1 })
    #expect(try place.found("ant") == ["a"])
    #expect(try place.found("bee").isEmpty)
    #expect(try place.found("filler").isEmpty)
  }

  @Test("an index of values that are gone is made anew, unless history is searched")
  func wasteful() throws {
    for round in 0..<11 {
      try place.write(
        Dictionary(uniqueKeysWithValues: (0..<1000).map { ("f\($0)", "text \(round) \($0)") }))
      #expect(try place.search("text").count == 1000)
    }
    try place.write(
      Dictionary(uniqueKeysWithValues: (10..<1000).map { ("f\($0)", nil as String?) }))
    #expect(try place.search("text").count == 10)
    #expect(try SearchIndex(of: place.store).valueCount == 10)
  }

  @Test("words of forgotten versions leave the index", arguments: [false, true])
  func forgotten(hasHistory: Bool) throws {
    func contains(_ word: String) throws -> Bool {
      try ["", "-wal"].contains { suffix in
        let path = path + suffix
        guard try FileSystem.exists(path) else { return false }
        let bytes = try FileSystem.read(path, atMost: 1 << 26)
        return bytes.firstRange(of: Array(word.utf8)) != nil
      }
    }
    let filler = String(repeating: "filler ", count: 100)
    let texts = ["secretary", "newest"]
    for text in texts {
      try place.write(["a": "\(text) \(filler)"])
      #expect(try place.found(text) { $0.includesHistory = hasHistory } == ["a"])
    }
    #expect(try contains("secretari"))
    let later = SystemClock.now() + 1000 * 86_400 * 1_000_000_000
    let report = try place.store.forget(try KeepPolicy("all:1d"), at: later)
    #expect(report.newlyForgotten == 1)
    try SearchIndex(of: place.store).forget()
    #expect(try !contains("secretari"))
    #expect(try place.found("newest") { $0.includesHistory = hasHistory } == ["a"])
    #expect(try place.found("secretary") { $0.includesHistory = true }.isEmpty)
    #expect(try !contains("secretari"))
    // What a store forgot before it has an index makes no difference.
    try place.write(["a": "third \(filler)"])
    try FileSystem.unlink(path)
    #expect(try place.found("third") == ["a"])
  }

  @Test("a search after versions were forgotten removes their words")
  func forgottenBefore() throws {
    try place.write(["a": "ant"])
    #expect(try place.found("ant") == ["a"])
    try place.write(["a": "bee"])
    let later = SystemClock.now() + 1000 * 86_400 * 1_000_000_000
    _ = try place.store.forget(try KeepPolicy("all:1d"), at: later)
    #expect(try place.found("bee") == ["a"])
    #expect(try SearchIndex(of: place.store).valueCount == 1)
    // Nothing that the index has was forgotten.
    try place.write(["a": "cat"])
    _ = try place.store.forget(try KeepPolicy("all:1d"), at: later)
    #expect(try place.found("cat") == ["a"])
    #expect(try SearchIndex(of: place.store).valueCount == 1)
  }

  @Test("an answer from what is there says whether it is the head's")
  func unwaited() throws {
    try place.write(["a": "ant", "b": "ant"])
    #expect(try place.search("ant").isCurrent)
    try place.write(["a": "bee"])
    let result = try place.search("ant") { $0.isCaughtUp = false }
    #expect(!result.isCurrent)
    #expect(result.hits.map(\.path) == [Array("b".utf8)])
  }

  @Test(
    "a store that is only read is searched without leaving anything in it",
    .enabled(if: SystemProcess.user != 0))
  func readOnly() throws {
    try place.write(["a": "ant"])
    try FileSystem.setMode(Array(place.store.path.utf8), 0o500)
    defer { try? FileSystem.setMode(Array(place.store.path.utf8), 0o700) }
    #expect(try place.found("ant") == ["a"])
    #expect(!SearchIndex.exists(of: place.store))
  }
}
