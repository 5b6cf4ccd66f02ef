import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

/// Long values that were changed in part: read only around the change, equal to a value cut anew.
@Suite(.timeLimit(.minutes(3)))
struct ContentReuseTests {
  let directory: TemporaryDirectory
  let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(path: directory.file("s"), create: true)
  }

  func write(_ source: TestSource) throws -> StoredContent {
    try store.write { (transaction) throws(StoreError) in try transaction.write(source) }
  }

  /// The bytes of a value's runs of zeros, one after the other.
  private func holes(_ stored: StoredContent) throws -> UInt64 {
    var (count, offset): (UInt64, UInt64) = (0, 0)
    while offset < stored.length {
      let run = try store.contents.run(stored, at: offset)
      if run.isHole { count += run.end - offset }
      offset = run.end
    }
    return count
  }

  /// Data, zeros and repetition in random lengths.
  static func sample(_ random: inout SeededRandom) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let count = Int.random(in: 1...300_000, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes += [UInt8](repeating: 0, count: count)
      case 1: bytes += [UInt8](repeating: 7, count: count)
      default: bytes += random.bytes(count)
      }
    }
    return bytes
  }

  @Test("random edits of a base give the digest and the bytes of a value without one")
  func randomEdits() throws {
    var random = SeededRandom(seed: 20_260_501)
    for round in 0..<60 {
      let old = ContentReuseTests.sample(&random)
      let base = try write(TestSource(bytes: old))
      var new = old
      // Changed ranges of the new value; the rest is said to be unchanged.
      var changed: [Range<Int>] = []
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let start = Int.random(in: 0..<new.count, using: &random)
        let count = min(new.count - start, Int.random(in: 1...100_000, using: &random))
        let isZero = Bool.random(using: &random)
        let bytes = isZero ? [UInt8](repeating: 0, count: count) : random.bytes(count)
        new.replaceSubrange(start..<(start + count), with: bytes)
        changed.append(start..<(start + count))
      }
      switch Int.random(in: 0..<4, using: &random) {
      case 0: new.removeLast(Int.random(in: 0..<new.count, using: &random))
      case 1:
        let start = new.count
        new += ContentReuseTests.sample(&random)
        changed.append(start..<new.count)
      default: break
      }
      var known: [(Range<UInt64>, isHole: Bool)] = []
      var position = 0
      for range in changed.sorted(by: { $0.lowerBound < $1.lowerBound }) {
        if position < min(range.lowerBound, new.count) {
          known.append((UInt64(position)..<UInt64(min(range.lowerBound, new.count)), false))
        }
        position = max(position, range.upperBound)
      }
      if position < min(new.count, old.count) {
        known.append((UInt64(position)..<UInt64(min(new.count, old.count)), false))
      }
      let plain = try write(TestSource(bytes: new))
      let reused = try write(TestSource(bytes: new, base: base, known: known))
      #expect(reused.digest == plain.digest, "round \(round)")
      #expect(reused.length == plain.length)
      #expect(try store.contents.bytes(reused) == new, "round \(round)")
      #expect(try store.contents.zeroBytes(reused) == holes(reused), "round \(round)")
      // Any range reads as what it is.
      for _ in 0..<4 {
        let start = Int.random(in: 0..<new.count, using: &random)
        let count = min(new.count - start, Int.random(in: 1...200_000, using: &random))
        var buffer = [UInt8](repeating: 0xEE, count: count)
        let read = try buffer.withUnsafeMutableBytes { raw in
          try store.contents.read(reused, at: UInt64(start), into: raw)
        }
        #expect(read == count && buffer == Array(new[start..<(start + count)]))
      }
    }
  }

  @Test("a write of 4 KiB into the middle of a long value reads little of it and adds little")
  func smallWrite() throws {
    var random = SeededRandom(seed: 3)
    let old = random.bytes(24_000_000)
    let base = try write(TestSource(bytes: old))
    let before = try size()
    let start = 11_000_000
    var new = old
    new.replaceSubrange(start..<(start + 4096), with: random.bytes(4096))
    let source = TestSource(
      bytes: new, base: base,
      known: [
        (0..<UInt64(start), false), (UInt64(start + 4096)..<UInt64(new.count), false),
      ])
    let stored = try write(source)
    #expect(source.count.read <= 4096)
    #expect(try size() - before < 1_200_000)
    #expect(try store.contents.bytes(stored) == new)
  }

  @Test("holes are not read and cost nothing")
  func holes() throws {
    var bytes = [UInt8](repeating: 0, count: 20_000_000)
    bytes[10_000_000] = 1
    let source = TestSource(
      bytes: bytes, known: [(0..<9_999_360, true), (10_000_384..<20_000_000, true)])
    let stored = try write(source)
    #expect(source.count.read <= 1024)
    #expect(try size() < 100_000)
    #expect(try store.contents.bytes(stored) == bytes)
    #expect(try write(TestSource(bytes: bytes)).digest == stored.digest)
  }

  @Test("equal bytes are stored once, also under other names and in later sessions")
  func sharing() throws {
    var random = SeededRandom(seed: 4)
    let bytes = random.bytes(1_000_000)
    let value = Value(id: Value.ID("a"), data: bytes)
    let first = try store.makeVersion(basedOnPredecessor: nil, inserting: [value])
    let before = try size()
    try store.makeVersion(
      basedOnPredecessor: first.id,
      inserting: [Value(id: Value.ID("b"), data: bytes), Value(id: Value.ID("c"), data: bytes)])
    #expect(try size() - before < 10_000)
  }

  /// Bytes in segments, those still buffered not counted.
  private func size() throws -> UInt64 {
    try store.write { (transaction) throws(StoreError) in
      // A commit flushes what was appended.
      transaction.set("test", to: nil)
    }
    return try FileSystem.list(directory.file("s/segments")).reduce(0) {
      $0 + (try FileSystem.status(directory.file("s/segments/\($1)")).size)
    }
  }
}
