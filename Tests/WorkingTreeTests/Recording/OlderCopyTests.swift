import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Stores of which a part was put back from an older copy.
@Suite(.timeLimit(.minutes(2)))
struct OlderCopyTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path)
  }

  /// Makes a version of `a` and `d/a`, copies all, and goes on: a version of `b`, then `c`, which stays pending.
  ///
  /// - Returns: the path of a copy in which one part is the older one.
  private func copy(withOlder part: String) throws -> String {
    try work.makeDirectory("d")
    try work.save("a", "one")
    try work.save("d/a", "one")
    try work.cut()
    try work.save("a", "two")
    let older = directory.file("older")
    try copyTree(directory.path, to: older)
    _ = try work.store.allotInodes(300_000)
    // The batches of numbers that were taken before are used up.
    for index in 0..<4200 {
      try work.save("scratch\(index % 2)", "\(index)")
      try work.unlink("scratch\(index % 2)")
    }
    try work.save("b", "two")
    try work.cut()
    try work.save("c", "three")
    let copy = directory.file("copy")
    try copyTree(directory.path, to: copy, leavingOut: "older")
    for name in try FileSystem.list(copy) where name.hasPrefix(part) {
      try FileSystem.removeTree("\(copy)/\(name)")
    }
    for name in try FileSystem.list(older) where name.hasPrefix(part) {
      if try FileSystem.status("\(older)/\(name)").kind == .directory {
        try copyTree("\(older)/\(name)", to: "\(copy)/\(name)")
      } else {
        try FileSystem.rename("\(older)/\(name)", to: "\(copy)/\(name)")
      }
    }
    return copy
  }

  @Test(
    "An older store: the tree is its head with what is pending, which is said, and no number is given twice"
  )
  func store() throws {
    let again = try TreeAtWork(try copy(withOlder: "store"))
    #expect(again.opened.losses.contains { $0.contains("the store is older than its journal") })
    try again.check()
    let texts = try again.texts()
    #expect(texts["c"] == "three")
    #expect(texts["d/a"] == "one")
    let known = Set(again.tree.pending.nodes.map(\.key))
    try again.save("new", "new")
    #expect(try !known.contains(again.number("new")))
    #expect(try again.number("new") > work.number("c"))
    try again.cut()
    #expect(try again.recordedTexts()["c"] == "three")
    try again.check()
  }

  @Test(
    "An older journal: its changes are pending on the version that they were made on, and merge")
  func journal() throws {
    let again = try TreeAtWork(try copy(withOlder: "journal"))
    try again.check()
    #expect(try again.texts()["b"] == "two")
    #expect(try again.texts()["a"] == "two")
    try again.cut()
    #expect(try again.recordedTexts()["a"] == "two")
    #expect(try again.recordedTexts()["b"] == "two")
    try again.check()
  }

  @Test("Older rows: the tree is the same, and no number is given twice")
  func rows() throws {
    let again = try TreeAtWork(try copy(withOlder: "tree.sqlite"))
    #expect(try again.texts() == work.texts())
    try again.check()
    try again.save("new", "new")
    let numbers = try again.shown().values.map(\.number)
    #expect(Set(numbers).count == numbers.count)
    try again.cut()
    try again.check()
  }
}
