import Dispatch
import Inodes
import LLVSCore
import Platform
import Synchronization
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Files and several threads", .timeLimit(.minutes(3)))
struct FileThreadsTests {
  private static let block = 4096
  private static let blocks = 16

  /// Blocks of one byte each, so that who reads half a write sees it.
  private func block(_ seed: UInt8) -> [UInt8] { [UInt8](repeating: seed, count: Self.block) }

  @Test(
    "threads that write, read, save and cut the same files see whole writes",
    arguments: JournalKind.allCases)
  func threads(kind: JournalKind) throws {
    let size = Self.block * Self.blocks
    let fixture = try FileFixture(
      ["a": [UInt8](repeating: 1, count: size), "b": [UInt8](repeating: 1, count: size)],
      over: kind)
    let numbers = [try fixture.number("a"), try fixture.number("b")]
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 6) { index in
      do {
        try work(fixture, numbers, index)
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    for number in numbers {
      let bytes = try fixture.read(number)
      #expect(bytes.count == size)
      for start in stride(from: 0, to: size, by: Self.block) {
        #expect(Set(bytes[start..<start + Self.block]).count == 1)
      }
    }
    #expect(fixture.tree.unsavedFiles == [])
    #expect(fixture.tree.state { $0.handles.openInodes } == [])
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("who opens a file while a head asks who has looked at names waits until it is shown")
  func opensDuringPublication() throws {
    let fixture = try FileFixture(["a": [1]])
    let number = try fixture.number("a")
    let tree = fixture.tree
    let handle = Monitor<HandleNumber?>(nil)
    _ = try tree.publish(forgetsReaders: false) { pending, willShow throws(StoreError) in
      let seen = willShow()
      let isStarted = Result {
        try SystemThread.detach(name: "test-open") {
          let opened = try? tree.open(number, mode: .read, process: SystemProcess.id).handle
          handle.withLock { $0 = opened }
          handle.broadcast()
        }
      }
      #expect(throws: Never.self) { try isStarted.get() }
      #expect(handle.wait(nanoseconds: 100_000_000) { $0 } == nil)
      #expect(seen.epochs(at: FileFixture.place("a"), number) == nil)
      return ShownHead(overlay: pending, epochs: [:], replaced: [], removed: [:])
    }
    let opened = try #require(handle.wait(nanoseconds: 10_000_000_000) { $0 })
    #expect(tree.state { $0.writers.knows(FileFixture.place("a"), number) })
    try tree.release(opened)
    try fixture.check()
  }

  private func work(_ fixture: FileFixture, _ numbers: [InodeNumber], _ index: Int) throws {
    var random = SeededRandom(seed: UInt64(index))
    for round in 0..<150 {
      let number = numbers[Int(random.next() % 2)]
      let handle = try fixture.tree.open(number, mode: [.read, .write]).handle
      let place = UInt64(Self.block * Int(random.next() % UInt64(Self.blocks)))
      switch random.next() % 4 {
      case 0:
        let bytes = try fixture.read(number, at: place, Self.block)
        guard Set(bytes).count == 1 else { throw FSError.io }
      case 1: try fixture.tree.fsync(handle)
      case 2:
        try fixture.tree.allocate(
          handle, range: place..<place + UInt64(Self.block), zeroing: true, keepingSize: true)
      default: try fixture.write(handle, block(UInt8(2 + (round + index) % 200)), at: place)
      }
      if round % 3 == 0 { try fixture.tree.flush(handle) }
      try fixture.tree.release(handle)
    }
  }
}
