import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct NodeCacheTests {
  private static let budget = 1 << 24

  /// A map whose nodes are longer than a sixteenth of the budget.
  private func longMap() throws -> (nodes: MemoryNodes, root: MapRoot, keys: [Key]) {
    let nodes = MemoryNodes()
    var attributes = Attributes()
    attributes.extended = [
      .init(name: Array("user.a".utf8), value: [UInt8](repeating: 1, count: 60_000))
    ]
    let entries = (0..<1500).map { Samples.value("k\(10_000 + $0)", attributes: attributes) }
    return (nodes, try Samples.map(entries, nodes).root, entries.map(\.key))
  }

  @Test("Nodes of megabytes take no more than is given, wherever they stand")
  func bounded() throws {
    let (nodes, root, keys) = try longMap()
    let cache = NodeCache(budget: Self.budget)
    let map = ValueMap(root: root, storage: nodes, cache: cache)
    for key in keys { #expect(try map.entry(at: key) != nil) }
    #expect(cache.byteCount <= 2 * Self.budget, "\(cache.byteCount)")
    // The last one is still there.
    #expect(cache.byteCount >= 1 << 20)
  }

  @Test("Of short nodes the one that was asked for last is found")
  func short() throws {
    let nodes = MemoryNodes()
    let entries = Samples.numbered(2000)
    let cache = NodeCache(budget: 1 << 16)
    let map = ValueMap(root: try Samples.map(entries, nodes).root, storage: nodes, cache: cache)
    for entry in entries { #expect(try map.entry(at: entry.key) == entry) }
    #expect(cache.byteCount > 0 && cache.byteCount <= 3 << 16, "\(cache.byteCount)")
  }

  @Test(
    "Who walks over all names fills a sixteenth; leaves that are asked for again and again stay")
  func passing() throws {
    let nodes = MemoryNodes()
    let entries = Samples.numbered(40_000)
    let root = try Samples.map(entries, nodes).root
    let cache = NodeCache(budget: Self.budget)
    let map = ValueMap(root: root, storage: nodes, cache: cache)
    func walk() throws -> Int {
      let before = nodes.reads
      for entry in entries { #expect(try map.shortened.entry(at: entry.key) == entry) }
      return nodes.reads - before
    }
    let all = try walk()
    #expect(all > 300)
    #expect(cache.byteCount <= Self.budget / 16 + 200_000, "\(cache.byteCount)")
    // What was dropped is read three times more, and then kept.
    for _ in 0..<2 {
      #expect(try walk() <= all)
      #expect(cache.byteCount <= Self.budget / 16 + 200_000, "\(cache.byteCount)")
    }
    let again = try walk()
    #expect(again > all / 2 && again <= all, "\(again) of \(all)")
    #expect(cache.byteCount > Self.budget / 8, "\(cache.byteCount)")
    let last = try walk()
    #expect(last <= all / 50, "\(last) of \(all)")
  }

  @Test("A leaf that was passed stays for who reads entries whole")
  func adopted() throws {
    let nodes = MemoryNodes()
    let entries = Samples.numbered(40_000)
    let root = try Samples.map(entries, nodes).root
    let map = ValueMap(root: root, storage: nodes, cache: NodeCache(budget: Self.budget))
    let key = entries[0].key
    _ = try map.shortened.entry(at: key)
    let reads = nodes.reads
    _ = try map.entry(at: key)
    #expect(nodes.reads == reads)
    for entry in entries { _ = try map.shortened.entry(at: entry.key) }
    let walked = nodes.reads
    _ = try map.entry(at: key)
    _ = try map.shortened.entry(at: key)
    #expect(nodes.reads == walked)
  }
}
