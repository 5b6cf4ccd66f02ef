import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Frames that tell a node by another without a search (`DeltaFrame`).
@Suite(.timeLimit(.minutes(2)))
struct DeltaFrameTests {
  private let compression = Compression()

  /// An item of a leaf, or of a node above, with a key and as many bytes after it.
  private func item(
    _ key: Int, level: Int, tail: [UInt8], in random: inout SeededRandom
  ) -> [UInt8] {
    let digits = String(key)
    let name = Array((String(repeating: "0", count: 8 - digits.utf8.count) + digits).utf8)
    var bytes = [UInt8](repeating: 0, count: 4)
    if level == 0 { bytes += [0, 0, 0, 90, 0] }
    bytes += [0, 0, 0, UInt8(name.count)] + name + tail
    for index in 0..<4 { bytes[3 - index] = UInt8(truncatingIfNeeded: bytes.count >> (8 * index)) }
    return bytes
  }

  private func node(_ items: [Int: [UInt8]], level: Int) -> [UInt8] {
    var bytes: [UInt8] = [1, UInt8(level), 0, UInt8(truncatingIfNeeded: items.count)]
    for key in items.keys.sorted() { bytes += items[key] ?? [] }
    return bytes
  }

  /// The frame, when one was made; what zstd makes of it with the base is the node.
  private func frame(_ bytes: [UInt8], from base: [UInt8], capacity: Int = 65_536) throws -> Int? {
    let head: [UInt8] = [7, 7, 7]
    let made = bytes.withUnsafeBytes { node in
      base.withUnsafeBytes {
        DeltaFrame.make(node, from: $0, capacity: capacity, after: head, compression)
      }
    }
    guard case .frame(let made) = made else { return nil }
    #expect(made.starts(with: head) && made.count - 3 <= capacity)
    let read = compression.undelta(made.dropFirst(3), from: base, length: bytes.count)
    try #require(read == bytes)
    return made.count - 3
  }

  @Test("nodes that differ by changed, new and removed items come back", arguments: [0, 1])
  func edits(_ level: Int) throws {
    var random = SeededRandom(seed: UInt64(40 + level))
    func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    var made = 0
    for _ in 0..<600 {
      // Few items of any length, or many that are short.
      let (count, longest) = number(3) == 0 ? (1 + number(4), 9000) : (1 + number(200), 140)
      var items: [Int: [UInt8]] = [:]
      for _ in 0..<count {
        let key = number(1000)
        items[key] = item(
          key, level: level, tail: random.bytes(24 + number(longest)), in: &random)
      }
      let base = node(items, level: level)
      for _ in 0..<(1 + number(12)) {
        guard let key = items.keys.sorted().randomElement(using: &random) else { break }
        switch number(5) {
        case 0: items[key] = nil
        case 1:
          let new = number(1000)
          items[new] = item(
            new, level: level, tail: random.bytes(24 + number(longest)), in: &random)
        case 2:
          var tail = Array((items[key] ?? []).dropFirst(level == 0 ? 21 : 16))
          tail.insert(contentsOf: random.bytes(number(300)), at: number(tail.count + 1))
          items[key] = item(key, level: level, tail: tail, in: &random)
        default:
          for _ in 0..<(1 + number(80)) {
            let place = (level == 0 ? 21 : 16) + number(24)
            items[key]?[place] ^= UInt8(1 + number(255))
          }
        }
      }
      guard !items.isEmpty else { continue }
      if let size = try frame(node(items, level: level), from: base) {
        made += 1
        #expect(size <= 65_536)
      }
    }
    #expect(made > 400)
  }

  @Test("runs of every length that has a code of its own come back")
  func lengths() throws {
    var random = SeededRandom(seed: 42)
    let powers = (6...15).flatMap { [1 << $0 - 1, 1 << $0, 1 << $0 + 1] }
    for length in Array(0...70) + powers + [90, 100, 131, 132, 60_000] {
      // So many bytes are new, or the same, between such that are the other.
      let old = random.bytes(length + 64)
      let base = node([5: item(5, level: 1, tail: old, in: &random)], level: 1)
      for isNew in [false, true] {
        var tail = old
        for index in tail.indices where ((32..<32 + length).contains(index)) == isNew {
          tail[index] ^= 0x55
        }
        let bytes = node([5: item(5, level: 1, tail: tail, in: &random)], level: 1)
        #expect(try frame(bytes, from: base) != nil, "\(length)")
      }
    }
  }

  @Test("one change in a node takes little, and no more room is taken than is given")
  func size() throws {
    var random = SeededRandom(seed: 43)
    var items: [Int: [UInt8]] = [:]
    for key in 0..<64 { items[key] = item(key, level: 0, tail: random.bytes(100), in: &random) }
    let base = node(items, level: 0)
    #expect(try #require(try frame(base, from: base)) < 30)
    items[20]?[40] ^= 1
    items[50]?[60] ^= 1
    let bytes = node(items, level: 0)
    let size = try #require(try frame(bytes, from: base))
    #expect(size < 48, "\(size)")
    #expect(try frame(bytes, from: base, capacity: size) == size)
    #expect(try frame(bytes, from: base, capacity: size - 1) == nil)
  }

  @Test("bytes that are no nodes give no frame, or one that is right")
  func damaged() throws {
    var random = SeededRandom(seed: 44)
    var items: [Int: [UInt8]] = [:]
    for key in 0..<20 { items[key] = item(key, level: 0, tail: random.bytes(80), in: &random) }
    let whole = node(items, level: 0)
    func flipped() -> [UInt8] {
      var bytes = whole
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        bytes[index] ^= UInt8(1 << Int.random(in: 0..<8, using: &random))
      }
      return Array(bytes.prefix(Int.random(in: 0...bytes.count * 2, using: &random)))
    }
    for _ in 0..<3000 { _ = try frame(flipped(), from: flipped()) }
    for count in 0..<40 {
      _ = try frame(random.bytes(count), from: random.bytes(40 - count))
      _ = try frame(Array(whole.prefix(count)), from: whole)
      _ = try frame(whole, from: Array(whole.prefix(count)))
    }
  }
}
