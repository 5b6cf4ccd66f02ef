import LLVS
import TestSupport
import Testing

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
    cache.removeAll()
    #expect(cache.byteCount == 0)
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
}
