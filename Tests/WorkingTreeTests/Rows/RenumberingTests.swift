import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Other numbers before a head is shown", .timeLimit(.minutes(3)))
struct RenumberingTests {
  /// All inodes of a tree, by number.
  private func inodes(_ base: any Base) throws -> [InodeNumber: BaseInode] {
    var found: [InodeNumber: BaseInode] = [:]
    var open = [InodeNumber.root]
    while let directory = open.popLast() {
      for entry in try base.page(of: directory, after: .start, limit: .max) {
        found[entry.inode.number] = entry.inode
        if entry.inode.record.isDirectory { open.append(entry.inode.number) }
      }
    }
    return found
  }

  @Test("whatever is renumbered, the rows stay the map's, and readers see it with the head")
  func random() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    for life in 0..<15 {
      let history = try RecordedTreeHistory(seed: seed &+ UInt64(life))
      try history.change { $0.mutate(&$1, changes: 25) }
      try history.open()
      for step in 0..<6 {
        let note = "step \(step) of life \(life), seed \(seed)"
        let shown = try inodes(try #require(history.tree))
        var moved: [InodeNumber: InodeNumber] = [:]
        var prepared: [InodeNumber: BaseInode] = [:]
        try history.advance(
          beforeShown: { tree in
            let base = tree.prepared
            for number in try inodes(base).keys.sorted() where history.maps.chance(30) {
              let inode = try #require(try base.inode(number))
              let names = Set(try base.names(of: number))
              let entries = try base.page(of: number, after: .start, limit: .max)
              let new = try #require(try tree.renumber(number), "\(note)")
              #expect(try base.inode(number) == nil, "\(note)")
              #expect(try base.names(of: number).isEmpty, "\(note)")
              #expect(try base.inode(new)?.record == inode.record, "\(note)")
              #expect(Set(try base.names(of: new)) == names, "\(note)")
              #expect(try base.page(of: new, after: .start, limit: .max) == entries, "\(note)")
              #expect(try tree.renumber(number) == nil, "\(note)")
              moved[number] = new
            }
            prepared = try inodes(base)
            #expect(try inodes(tree) == shown, "\(note)")
          },
          { $0.mutate(&$1, changes: 4) })
        try history.check(note)
        let tree = try #require(history.tree)
        #expect(try inodes(tree) == prepared, "\(note)")
        #expect(try inodes(tree.prepared) == prepared, "\(note)")
        #expect(Set(moved.values).isDisjoint(with: shown.keys), "\(note)")
        for (old, new) in moved {
          #expect(prepared[old] == nil && prepared[new] != nil, "\(note)")
        }
      }
    }
  }

  @Test("a number that was given before a head was withdrawn is not shown, nor given again")
  func withdrawn() throws {
    let history = try RecordedTreeHistory(seed: 3)
    try history.change { $0.mutate(&$1, changes: 25) }
    try history.open()
    let tree = try #require(history.tree)
    let shown = try inodes(tree)
    let number = try #require(shown.keys.min())
    let numbers = NumberSource(from: 1_000_000)
    var given: [InodeNumber] = []
    for _ in 0..<2 {
      try tree.prepare(history.head(), from: history.view, numbers: numbers, now: history.now)
      given.append(try #require(try tree.renumber(number)))
      #expect(try tree.prepared.inode(number) == nil)
      tree.withdraw()
      #expect(try inodes(tree) == shown)
      #expect(try inodes(tree.prepared) == shown)
    }
    #expect(given[0] != given[1])
    try history.check("withdrawn")
  }
}
