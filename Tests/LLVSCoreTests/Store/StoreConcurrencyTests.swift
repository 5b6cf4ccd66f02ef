import Dispatch
import LLVSCore
import Synchronization
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct StoreConcurrencyTests {
  @Test("readers see whole versions while others are made, and never wait for ever")
  func readersAndWriter() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let keys = (0..<20).map { Value.ID("k\($0)") }
    @Sendable func values(_ round: Int) -> [Value] {
      keys.map { Value(id: $0, data: [UInt8](repeating: UInt8(round), count: 3000)) }
    }
    try store.makeVersion(basedOnPredecessor: nil, inserting: values(0))
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { lane in
      do {
        for round in 1...30 {
          guard let head = try store.mostRecentHead else { continue }
          if lane == 0 {
            try store.makeVersion(basedOnPredecessor: head.id, updating: values(round))
            continue
          }
          let first = try keys.map { try store.value(id: $0, at: head.id)?.data }
          if Set(first).count != 1 { failures.withLock { $0.append("mixed at \(round)") } }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try store.verify().isSound)
    #expect(try store.state().lastNumber == 31)
  }

  @Test("the versions that touched a key are all found while the index is being written")
  func touching() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let store = try Store.open(path: directory.file("s"), create: true)
    let key = Value.ID("k")
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: key, data: [0])])
    let last = Mutex(try #require(try store.version(first.id)).number)
    let failures = Mutex<[String]>([])
    let isOver = Atomic<Bool>(false)
    DispatchQueue.concurrentPerform(iterations: 3) { lane in
      do {
        if lane == 0 {
          defer { isOver.store(true, ordering: .relaxed) }
          var head = first.id
          let end = ContinuousClock.now + .seconds(3)
          while ContinuousClock.now < end {
            head = try store.makeVersion(
              basedOnPredecessor: head, updating: [Value(id: key, data: [1])]
            ).id
            guard let record = try store.version(head) else { continue }
            last.withLock { $0 = record.number }
          }
        }
        while !isOver.load(ordering: .relaxed) {
          let number = last.withLock { $0 }
          let found = try store.versions(touching: key, upTo: number).count
          if found != Int(number.rawValue) {
            failures.withLock { $0.append("\(found) of \(number.rawValue)") }
          }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
  }
}
