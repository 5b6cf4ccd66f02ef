import ObjectStoreSupport
import ObjectStores
import Platform
import Synchronization
import TestSupport
import Testing

/// A remote that answers as a test says, and counts.
private final class ScriptedStore: ObjectStore {
  let capabilities: StoreCapabilities = [.move]
  let calls = Atomic<Int>(0)
  let underWay = Atomic<Int>(0)
  let most = Atomic<Int>(0)
  private let answer: @Sendable (Int) -> RemoteError?
  private let control: TransferControl
  private let delay: UInt64
  let moved = Atomic<Bool>(false)

  init(
    control: TransferControl = TransferControl(), delay: UInt64 = 0,
    _ answer: @escaping @Sendable (Int) -> RemoteError?
  ) {
    self.answer = answer
    self.control = control
    self.delay = delay
  }

  func request() throws(RemoteError) {
    let call = calls.add(1, ordering: .relaxed).newValue
    let now = underWay.add(1, ordering: .relaxed).newValue
    _ = most.max(now, ordering: .relaxed)
    defer { underWay.subtract(1, ordering: .relaxed) }
    if delay > 0 { try control.pause(nanoseconds: delay) }
    if let error = answer(call) { throw error }
  }

  func prepare(_ folders: [String]) throws(RemoteError) { try request() }
  func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    try request()
    guard moved.load(ordering: .relaxed), let name = ObjectName("new") else {
      return ListPage(objects: [])
    }
    return ListPage(objects: [ListedObject(name: name, length: 1)])
  }
  func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    try request()
    return 0
  }
  func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) { try request() }
  func delete(_ name: ObjectName) throws(RemoteError) { try request() }
  func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    guard !moved.load(ordering: .relaxed) else {
      throw RemoteError(.absent, "moved already")
    }
    moved.store(true, ordering: .relaxed)
    try request()
  }
}

private let passing = RemoteError(.unreachable, "busy", status: 503, isTransient: true)

@Suite(.timeLimit(.minutes(1)))
struct RetryingStoreTests {
  private let name: ObjectName

  init() throws { name = try #require(ObjectName("object")) }

  private func limits() -> RemoteLimits {
    var limits = RemoteLimits()
    limits.firstWait = 1_000_000
    limits.longestWait = 4_000_000
    return limits
  }

  @Test("what may pass is tried five times, what may not once")
  func attempts() throws {
    let control = TransferControl()
    let busy = ScriptedStore { _ in passing }
    let error = #expect(throws: RemoteError.self) {
      try RetryingStore(busy, limits: limits(), control: control).put(name, ObjectBody([1]))
    }
    #expect(error?.status == 503)
    #expect(busy.calls.load(ordering: .relaxed) == 5)
    for kind in [
      RemoteError.Kind.denied, .absent, .exists, .noSpace, .invalid, .mismatched, .malformed,
    ] {
      let firm = ScriptedStore { _ in RemoteError(kind, "no") }
      let error = #expect(throws: RemoteError.self) {
        try RetryingStore(firm, limits: limits(), control: control).delete(name)
      }
      #expect(error?.kind == kind)
      #expect(firm.calls.load(ordering: .relaxed) == 1)
    }
    let recovering = ScriptedStore { $0 < 5 ? passing : nil }
    try RetryingStore(recovering, limits: limits(), control: control).put(name, ObjectBody([1]))
    #expect(recovering.calls.load(ordering: .relaxed) == 5)
  }

  @Test("waits grow, are drawn from 0 up and end at the longest")
  func waits() throws {
    var limits = limits()
    limits.attempts = 12
    let store = ScriptedStore { _ in passing }
    let begun = SystemClock.monotonic()
    #expect(throws: RemoteError.self) {
      try RetryingStore(store, limits: limits, control: TransferControl()).delete(name)
    }
    let took = SystemClock.monotonic() - begun
    // 1 + 2 + 9 times 4 ms if each were the longest; the machine may be busy.
    #expect(took < 2_000_000_000)
    #expect(store.calls.load(ordering: .relaxed) == 12)
  }

  @Test("a server is left alone as long as it asks, and not asked again where that is too long")
  func retryAfter() throws {
    var limits = limits()
    limits.longestRetryAfter = 1_000_000_000
    var asks = passing
    asks.retryAfter = 300_000_000
    let store = ScriptedStore { [asks] in $0 == 1 ? asks : nil }
    let begun = SystemClock.monotonic()
    try RetryingStore(store, limits: limits, control: TransferControl()).delete(name)
    #expect(SystemClock.monotonic() - begun >= 300_000_000)
    asks.retryAfter = 2_000_000_000
    let far = ScriptedStore { [asks] _ in asks }
    #expect(throws: RemoteError.self) {
      try RetryingStore(far, limits: limits, control: TransferControl()).delete(name)
    }
    #expect(far.calls.load(ordering: .relaxed) == 1)
  }

  @Test("being told to stop ends a wait within a second")
  func stopping() throws {
    var (asks, limits) = (passing, limits())
    asks.retryAfter = 60_000_000_000
    limits.longestFirstRetryAfter = 60_000_000_000
    let store = ScriptedStore { [asks] _ in asks }
    let control = TransferControl()
    let begun = SystemClock.monotonic()
    let thread = try TestThread {
      SystemClock.sleep(nanoseconds: 200_000_000)
      control.cancel()
    }
    let error = #expect(throws: RemoteError.self) {
      try RetryingStore(store, limits: limits, control: control).delete(name)
    }
    #expect(error?.kind == .cancelled)
    #expect(SystemClock.monotonic() - begun < 1_200_000_000)
    thread.join()
  }

  @Test("so many requests are under way as the limit says, and no more")
  func requests() throws {
    var limits = limits()
    limits.requests = 3
    let control = TransferControl()
    let base = ScriptedStore(control: control, delay: 20_000_000) { _ in nil }
    let store = RetryingStore(base, limits: limits, control: control)
    let name = name
    let threads = try (0..<9).map { _ in try TestThread { try? store.delete(name) } }
    for thread in threads { thread.join() }
    #expect(base.calls.load(ordering: .relaxed) == 9)
    #expect(base.most.load(ordering: .relaxed) == 3)
  }

  @Test("a move whose answer was lost is seen to be done")
  func lostMove() throws {
    let base = ScriptedStore { $0 == 1 ? passing : nil }
    let store = RetryingStore(base, limits: limits(), control: TransferControl())
    try store.move(name, to: try #require(ObjectName("new")))
    let other = RetryingStore(
      ScriptedStore { $0 == 1 ? passing : nil }, limits: limits(), control: TransferControl())
    // An object under another name does not count.
    #expect(throws: RemoteError.self) {
      try other.move(name, to: try #require(ObjectName("newer")))
    }
  }

  @Test("a get that breaks off goes on behind the bytes that came")
  func resuming() throws {
    let control = TransferControl()
    var faults = StoreFaults()
    faults.breaks = 0.7
    let memory = MemoryStore(control: control)
    let bytes = [UInt8].random(seed: 9, 1_000_000)
    try memory.put(name, ObjectBody(bytes))
    var limits = limits()
    limits.attempts = 1000
    let store = RetryingStore(
      FaultyStore(memory, faults, seed: 5, control: control), limits: limits, control: control)
    #expect(try store.bytes(of: name, atMost: 2_000_000) == bytes)
    #expect(
      try store.bytes(of: name, range: 5..<900_000, atMost: 2_000_000)
        == Array(bytes[5..<900_000]))
  }

  @Test("bytes go no faster than the limit")
  func bandwidth() throws {
    let directory = try TemporaryDirectory()
    let control = TransferControl(bytesPerSecond: 1_000_000)
    let store = DirectoryStore(path: directory.path, scratch: ".scratch", control: control)
    let begun = SystemClock.monotonic()
    try store.put(name, ObjectBody([UInt8](repeating: 1, count: 300_000)))
    _ = try store.bytes(of: name, atMost: 300_000)
    let took = SystemClock.monotonic() - begun
    #expect(took > 400_000_000)
    #expect(control.sent == 300_000)
    #expect(control.received == 300_000)
  }
}
