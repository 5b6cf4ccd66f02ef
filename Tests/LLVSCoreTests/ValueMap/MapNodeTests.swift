import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

struct MapNodeTests {
  private static func item(_ index: Int, _ text: String) -> [UInt8] {
    MapItem.encode(Samples.value("key \(1000 + index)", Array(text.utf8)))
  }

  private static func items(_ node: MapNode) -> [[UInt8]] {
    (0..<node.count).map { node.withItem($0) { Array($0) } }
  }

  /// The items that differ, as somebody finds them who passes over what is the same.
  private static func differing(_ a: MapNode, _ b: MapNode) -> [Int] {
    var found: [Int] = []
    var index = 0
    while index < a.count {
      let same = a.equalItems(from: index, as: b, from: index)
      if same == 0 { found.append(index) }
      index += max(same, 1)
    }
    return found
  }

  @Test("nodes differ in the same items whatever is known of how they were made", arguments: 1...6)
  func origins(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let count = [1, 2, 17, 60, 255, 256][Int(seed) - 1]
    var run = RunBuffer(level: 0)
    for index in 0..<count { run.append(Self.item(index, "first")) }
    var nodes = [run.node(0..<count)]
    for round in 0..<150 {
      let node = try #require(nodes.randomElement(using: &random))
      let index = Int.random(in: 0..<count, using: &random)
      // Now and then what was there before.
      let text = round % 5 == 0 ? "first" : String(repeating: "x", count: round % 40)
      nodes.append(node.replacing(index, by: Self.item(index, text)))
    }
    for _ in 0..<600 {
      let a = try #require(nodes.randomElement(using: &random))
      let b = try #require(nodes.randomElement(using: &random))
      let (ofA, ofB) = (Self.items(a), Self.items(b))
      let expected = (0..<count).filter { ofA[$0] != ofB[$0] }
      #expect(Self.differing(a, b) == expected)
      let read = try #require(MapNode(checking: b.bytes))
      #expect(Self.differing(a, read) == expected)
    }
  }
}
