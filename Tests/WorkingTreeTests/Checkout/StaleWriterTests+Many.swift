import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Many programs that go on writing files which an undo has replaced.
extension StaleWriterTests {
  /// How many bases each merge among the versions after one has.
  private func baseCounts(after last: UInt32) throws -> [Int] {
    let graph = mount.store.graph
    guard mount.store.lastNumber > last else { return [] }
    return try (last + 1...mount.store.lastNumber).compactMap { number in
      let node = try graph.node(VersionNumber(number))
      guard let first = node.first, let second = node.second else { return nil }
      return try graph.commonAncestors([first], [second]).count
    }
  }

  @Test("Each of many who go on beside the tree is merged with one base, however often they do")
  func manyGoOn() throws {
    let names = (0..<12).map { "n\($0)" }
    for name in names { try mount.save(name, "base\n") }
    try mount.cut()
    for name in names { try mount.save(name, "next\n") }
    try mount.cut()
    let handles = try names.map { try open($0, [.read, .write], by: editor) }
    // As undo does: each name has other bytes, and the handles go on with what they had.
    let head = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
    let made = try mount.store.makeVersion(
      basedOnPredecessor: head.id,
      storing: names.map { .update(Value(id: Value.ID($0), data: Array("base\n".utf8))) })
    let number = try #require(try mount.store.version(made.id)).number
    _ = try mount.tree.transition(.command, headReason: .other("undo")) { _, _ in number }
    for round in 0..<3 {
      var last = mount.store.lastNumber
      for (name, handle) in zip(names, handles) {
        // Both, so that what is saved through the handle is no change of what the tree shows.
        try mount.write(handle, Array("held \(round)\n".utf8))
        try mount.tree.flush(handle)
        try mount.save(name, "shown \(round)\n")
        // At first one by one: then each goes on with a version of its own.
        guard round == 0 else { continue }
        last = mount.store.lastNumber
        try mount.cut()
      }
      try mount.cut()
      let counts = try baseCounts(after: last)
      #expect(counts.count == (round == 0 ? 1 : names.count), "round \(round)")
      #expect(counts.allSatisfy { $0 == 1 }, "round \(round): \(counts)")
      for name in names { #expect(try mount.head()[name] == "shown \(round)\n") }
    }
    for handle in handles { try mount.close(handle) }
  }
}
