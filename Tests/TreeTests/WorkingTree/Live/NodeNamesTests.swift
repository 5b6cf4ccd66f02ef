import LLVSCore
import TestSupport
import Testing

@testable import MountedTree

/// The names of a file, held against a set.
struct NodeNamesTests {
  @Test("names come and go as in a set, few or many", arguments: [1, 2, 3])
  func asSet(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let parents = (1...3).map { number in
      LiveNode(
        inode: number, kind: .directory, parent: nil, name: [], entry: nil,
        attributes: Attributes(), ctime: Attributes.Time(seconds: 0, nanoseconds: 0),
        directory: LiveDirectory(basePath: nil))
    }
    var names = NodeNames()
    var model: Set<NodeName> = []
    for step in 0..<4000 {
      // It grows, shrinks to nothing, and grows again.
      let grows = step % 1000 < 500
      let name = NodeName(
        parent: parents[Int.random(in: 0..<3, using: &random)],
        name: Array("n\(Int.random(in: 0..<60, using: &random))".utf8))
      #expect(names.contains(name) == model.contains(name))
      if grows || Int.random(in: 0..<4, using: &random) == 0 {
        if model.insert(name).inserted { names.insert(name) }
      } else if Int.random(in: 0..<3, using: &random) == 0 {
        let last = names.popLast()
        #expect((last == nil) == model.isEmpty)
        if let last { #expect(model.remove(last) != nil) }
      } else {
        #expect(names.remove(name) == (model.remove(name) != nil))
      }
      #expect(names.count == model.count && names.isEmpty == model.isEmpty)
      if step % 100 == 0 { #expect(Set(names) == model) }
    }
  }
}
