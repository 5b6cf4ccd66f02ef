import Dispatch
import LLVSCore
import Platform
import Synchronization
import TestSupport
import Testing

@testable import StoreSupport

/// Writers that take turns (SharedStore).
@Suite("Stores that several programs write", .timeLimit(.minutes(1)))
struct SharedStoreTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    path = directory.file("s")
  }

  private func make(_ shared: SharedStore, after last: Version.ID?) throws -> Version.ID {
    try shared.write { (store) throws(StoreError) in
      try store.makeVersion(
        basedOnPredecessor: last, storing: [.insert(Value(id: Value.ID("k"), data: [1]))]
      ).id
    }
  }

  @Test("T1: what others wrote between two turns is there in the next one")
  func turns() throws {
    let shared = try SharedStore.open(path: path, create: true)
    let first = try make(shared, after: nil)
    var last = first
    for _ in 0..<3 {
      // Another program that keeps the store for a while; it gets it although this one was quick.
      do {
        let other = try Store.open(path: path)
        last = try other.makeVersion(basedOnPredecessor: last, storing: []).id
      }
      last = try make(shared, after: last)
    }
    let count = try shared.read { (store) throws(StoreError) in try store.state().lastNumber }
    #expect(count == 7)
    #expect(try SharedStore.open(path: path) === shared)
  }

  /// Opens a store, for at most 30 seconds again: a writer on a busy machine needs a while to end its turn.
  private func openWhenFree() throws(StoreError) -> Store {
    let end = SystemClock.monotonic() + 30_000_000_000
    while true {
      do throws(StoreError) {
        return try Store.open(path: path)
      } catch {
        guard case .busy = error, SystemClock.monotonic() < end else { throw error }
      }
    }
  }

  @Test("T2: a writer that never pauses gives up its turn to one that waits")
  func fairness() throws {
    let shared = try SharedStore.open(path: path, create: true)
    let isOver = Atomic<Bool>(false)
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 2) { lane in
      do {
        if lane == 0 {
          var last: Version.ID?
          while !isOver.load(ordering: .relaxed) { last = try make(shared, after: last) }
        } else {
          defer { isOver.store(true, ordering: .relaxed) }
          for _ in 0..<3 {
            let other = try openWhenFree()
            try other.makeVersion(basedOnPredecessor: nil, storing: [])
          }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let store = try Store.open(path: path)
    #expect(try store.verify().isSound)
  }

  @Test("T3: a mounted store refuses at once, by the number of its process, and reads go on")
  func mounted() throws {
    let shared = try SharedStore.open(path: path, create: true)
    let version = try make(shared, after: nil)
    do {
      let daemon = try Store.open(path: path)
      daemon.announceMount(device: "0:99")
      let before = SystemClock.monotonic()
      do {
        _ = try make(shared, after: version)
        Issue.record("it was written")
      } catch StoreError.busy(let text) {
        #expect(text.contains("process \(SystemProcess.id)"))
      }
      #expect(SystemClock.monotonic() - before < 5_000_000_000)
      let found = try shared.read { (store) throws(StoreError) in try store.version(version) }
      #expect(found != nil)
    }
    // The text stays when the daemon has ended.
    _ = try make(shared, after: version)
  }

  @Test("many threads of one program write one store")
  func threads() throws {
    let shared = try SharedStore.open(path: path, create: true)
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 8) { lane in
      do {
        var last: Version.ID?
        for _ in 0..<20 { last = try make(shared, after: last) }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let heads = try shared.read { (store) throws(StoreError) in try store.headNumbers() }
    #expect(heads.count == 8)
  }
}
