import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// The table of the versions that epochs stand for.
@Suite(.timeLimit(.minutes(1)))
struct EpochForgettingTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path)
  }

  private func mergeOften() throws {
    for index in 1...10 {
      let head = try #require(try work.store.state().head)
      try work.merge(try work.others(["theirs": "\(index)"], on: head))
    }
  }

  @Test("A new journal begins without the epochs that nothing was made in")
  func forgotten() throws {
    try work.save("a", "one")
    try work.cut()
    try mergeOften()
    #expect(work.tree.epochs.count > 5)
    #expect(try work.tree.renewJournal(isForced: true) == [])
    #expect(work.tree.epochs.count == 1)
    try work.save("a", "two")
    try work.cut()
    try work.check()
  }

  @Test(
    "An epoch stays while a change made in it is pending, and the change is made on its version")
  func pending() throws {
    try work.save("a", "one")
    let first = try #require(try work.cut().head?.number)
    let (_, handle) = try work.open("a")
    try work.write("ONE", through: handle)
    let head = try #require(try work.store.state().head)
    try work.merge(try work.others(["a": "theirs"], on: head))
    try mergeOften()
    #expect(try work.tree.renewJournal(isForced: true) == [])
    #expect(work.tree.epochs.values.contains(first.rawValue))
    try work.close(handle)
    let before = work.store.lastNumber
    try work.cut()
    #expect(work.opened.losses == [])
    let made = try #require(try work.store.version(VersionNumber(before + 1)))
    #expect(made.first == first)
    try work.check()
  }

  @Test(
    "An epoch stays while a process is behind that saw its version, and the table does not grow")
  func behind() throws {
    let process = SystemProcess.id
    try work.save("a", "one")
    try work.save("b", "one")
    try work.cut()
    func read(_ name: String) throws {
      try work.tree.release(
        try work.tree.open(try work.number(name), mode: .read, process: process).handle)
    }
    try read("a")
    let first = try #require(try work.store.state().head)
    try work.merge(try work.others(["a": "theirs"], on: first))
    for index in 0..<200 {
      try read("b")
      try work.merge(try work.others(["b": "\(index)"], on: work.store.state().head))
    }
    #expect(work.tree.epochs.count < 100)
    #expect(try work.tree.renewJournal(isForced: true) == [])
    // The epoch of what the process saw of each of the two, and the current one.
    #expect(work.tree.epochs.count == 3)
    #expect(work.tree.epochs.values.contains(first.rawValue))
    try read("a")
    try read("b")
    #expect(try work.tree.renewJournal(isForced: true) == [])
    #expect(work.tree.epochs.count == 1)
    try work.check()
  }
}
