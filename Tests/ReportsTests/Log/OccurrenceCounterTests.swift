import LLVSCore
import TestSupport
import Testing

@testable import Reports

@Suite("Counting a text in values", .timeLimit(.minutes(2)))
struct OccurrenceCounterTests {
  private let directory: TemporaryDirectory
  private let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
  }

  private func stored(_ bytes: [UInt8]) throws -> StoredContent {
    let id = try store.makeVersion(
      basedOnPredecessor: nil, storing: [.insert(Value(id: Value.ID("k"), data: bytes))]
    ).id
    return try #require(try store.map(of: store.version(id)).entry(at: Key("k"))).stored
  }

  /// Counts from the start, without overlaps.
  private static func count(of text: [UInt8], in bytes: [UInt8]) -> Int {
    var (count, place) = (0, 0)
    while place + text.count <= bytes.count {
      if bytes[place..<(place + text.count)].elementsEqual(text) {
        count += 1
        place += text.count
      } else {
        place += 1
      }
    }
    return count
  }

  @Test("texts that reach over chunks or overlap themselves are counted as in one piece")
  func pieces() throws {
    var random = SeededRandom(seed: 5)
    for (length, letters) in [(0, 2), (100, 2), (60_000, 2), (700_000, 2), (700_000, 3)] {
      let bytes = random.bytes(length).map { 97 + $0 % UInt8(letters) }
      let value = try stored(bytes)
      for text in ["a", "aa", "aba", "abab", "bbbbbbb", "aabaabaa"] {
        let counter = OccurrenceCounter(of: Array(text.utf8), in: store.contents)
        let expected = Self.count(of: Array(text.utf8), in: bytes)
        #expect(try counter.count(in: value) == expected, "\(text) in \(length)")
        // The second time, the results of chunks are known.
        #expect(try counter.count(in: value) == expected, "\(text) in \(length)")
      }
    }
  }

  @Test("a text that is a large part of a value, and longer than a chunk, is found")
  func longText() throws {
    var random = SeededRandom(seed: 6)
    let bytes = random.bytes(900_000)
    let value = try stored(bytes)
    for range in [0..<900_000, 1000..<500_000, 300_000..<900_000] {
      let counter = OccurrenceCounter(of: Array(bytes[range]), in: store.contents)
      #expect(try counter.count(in: value) == 1, "\(range)")
    }
  }

  @Test("zeros that take no space are counted like others")
  func zeros() throws {
    var random = SeededRandom(seed: 7)
    let zeros = [UInt8](repeating: 0, count: 1_000_000)
    let bytes = random.bytes(100_000).map { $0 | 1 } + [7] + zeros + [8] + random.bytes(100_000)
    let value = try stored(bytes)
    for text: [UInt8] in [[0], [0, 0, 0], [7, 0], [0, 8], [7, 0, 0], [0, 0, 8], [7, 8]] {
      let counter = OccurrenceCounter(of: text, in: store.contents)
      #expect(try counter.count(in: value) == Self.count(of: text, in: bytes), "\(text)")
    }
  }

  @Test("a chunk that two values share is read once")
  func shared() throws {
    var random = SeededRandom(seed: 8)
    var bytes = random.bytes(4_000_000)
    let counter = OccurrenceCounter(of: Array("word".utf8), in: store.contents)
    _ = try counter.count(in: stored(bytes))
    let chunks = counter.known.count
    #expect(chunks > 20)
    bytes.replaceSubrange(2_000_000..<2_000_004, with: Array("word".utf8))
    let before = try counter.count(in: stored(bytes))
    #expect(before >= 1 && counter.known.count <= chunks + 3, "\(chunks) \(counter.known.count)")
  }
}
