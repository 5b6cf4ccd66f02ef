import Control
import Grammar
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import TreeSupport

/// A peer that answers only when it is told to, or when the exchange is cancelled.
private final class SlowPeer: RemoteLayout {
  func verify(for store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    ExchangeReport()
  }

  let isOpen = Monitor(false)
  let count = Monitor(0)

  func wait(_ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    count.withLock { $0 += 1 }
    count.broadcast()
    while true {
      let isDone = isOpen.wait(nanoseconds: 5_000_000) { $0 ? true : nil }
      if isDone == true { return ExchangeReport() }
      if control.isCancelled() { throw .cancelled }
    }
  }

  func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport { try wait(control) }

  func send(from store: Store, _ control: ExchangeControl) throws(StoreError) -> ExchangeReport {
    try wait(control)
  }
}

@Suite("Sessions of the control file", .timeLimit(.minutes(2)))
struct ControlSessionTests {
  private let pool = WorkerPool(name: "test")

  private func write(
    _ session: ControlSession, _ text: String
  ) throws -> Result<Int, ControlError> {
    let outcome = Monitor<Result<Int, ControlError>?>(nil)
    session.write(Array(text.utf8)) { result in
      outcome.withLock { $0 = result }
      outcome.broadcast()
    }
    return try #require(outcome.wait(nanoseconds: 30_000_000_000) { $0 })
  }

  private func kind(_ result: Result<Int, ControlError>) -> ControlError.Kind? {
    if case .failure(let error) = result { return error.kind }
    return nil
  }

  private func text(
    _ session: ControlSession, at offset: UInt64 = 0, count: Int = 65_536
  ) throws -> String {
    String(decoding: try session.read(at: offset, count: count), as: UTF8.self)
  }

  @Test("a bad line ends the write, and what follows is refused until the reply is read")
  func order() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    let session = ControlSession(space.service, pool: pool)
    #expect(kind(try write(session, "commit\nbad\nsync\n")) == .grammar)
    #expect(try space.head != nil)
    #expect(kind(try write(session, "commit")) == .refused)
    let reply = try text(session)
    #expect(reply.hasPrefix("ok "))
    #expect(reply.contains("error: no command \"bad\""))
    #expect(!reply.contains("sync"))
    #expect(kind(try write(session, "commit")) == nil)
    #expect(try text(session) == "ok nothing to commit\n")
  }

  @Test("a reply counts from where the handle stands and belongs to it alone")
  func replies() throws {
    let space = try ControlWorkspace()
    let (one, other) = (
      ControlSession(space.service, pool: pool), ControlSession(space.service, pool: pool)
    )
    #expect(try write(one, "commit\n").get() == 7)
    #expect(try text(one, at: 7, count: 5) == "ok no")
    #expect(try text(one, at: 12) == "thing to commit\n")
    #expect(try text(one, at: 28) == "")
    #expect(try text(other).hasPrefix("head"))
    #expect(try text(other).hasSuffix("last      ok commit: nothing to commit\n"))
  }

  @Test("more than 64 KiB in one write is too much")
  func tooLong() throws {
    let session = ControlSession(try ControlWorkspace().service, pool: pool)
    let long = String(repeating: "#", count: 65_537)
    #expect(kind(try write(session, long)) == .tooLong)
    _ = try text(session)
    #expect(kind(try write(session, String(repeating: "#", count: 65_536))) == nil)
  }

  @Test("a command that is interrupted says so and leaves the tree as it was")
  func interrupted() throws {
    let peer = SlowPeer()
    let space = try ControlWorkspace(opener: PeerOpener { (_, _) throws(ControlError) in peer })
    try space.service.setPeer("slow", address: Array("/x".utf8))
    let session = ControlSession(space.service, pool: pool)
    let outcome = Monitor<Result<Int, ControlError>?>(nil)
    let pending = session.write(Array("retrieve slow".utf8)) { result in
      outcome.withLock { $0 = result }
      outcome.broadcast()
    }
    _ = peer.count.wait { $0 > 0 ? true : nil }
    pending.cancel()
    let result = try #require(outcome.wait(nanoseconds: 10_000_000_000) { $0 })
    #expect(kind(result) == .interrupted)
  }

  @Test("a hundred blocked commands hinder nobody")
  func blocked() throws {
    let peer = SlowPeer()
    let space = try ControlWorkspace(opener: PeerOpener { (_, _) throws(ControlError) in peer })
    for number in 0..<100 {
      try space.service.setPeer("p\(number)", address: Array("/x\(number)".utf8))
    }
    let done = Monitor(0)
    let sessions = (0..<100).map { _ in ControlSession(space.service, pool: pool) }
    for (number, session) in sessions.enumerated() {
      session.write(Array("send p\(number)".utf8)) { _ in
        done.withLock { $0 += 1 }
        done.broadcast()
      }
    }
    _ = peer.count.wait { $0 == 100 ? true : nil }
    try space.write("a", "one")
    let session = ControlSession(space.service, pool: pool)
    #expect(kind(try write(session, "commit")) == nil)
    #expect(try text(ControlSession(space.service, pool: pool)).hasPrefix("head"))
    #expect(done.withLock { $0 } == 0)
    peer.isOpen.withLock { $0 = true }
    peer.isOpen.broadcast()
    _ = done.wait { $0 == 100 ? true : nil }
  }

  @Test("status waits for no transaction")
  func statusBesideTransaction() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    try space.run("commit")
    let isInside = Monitor(false)
    let mayEnd = Monitor(false)
    let store = space.store
    pool.run {
      try? store.write { (transaction) throws(StoreError) in
        transaction.set("x", to: [1])
        isInside.withLock { $0 = true }
        isInside.broadcast()
        _ = mayEnd.wait(nanoseconds: 20_000_000_000) { $0 ? true : nil }
      }
    }
    _ = isInside.wait { $0 ? true : nil }
    let start = SystemClock.monotonic()
    #expect(try text(ControlSession(space.service, pool: pool)).hasPrefix("head"))
    #expect(try space.read("a") == "one")
    #expect(SystemClock.monotonic() - start < 5_000_000_000)
    mayEnd.withLock { $0 = true }
    mayEnd.broadcast()
  }
}
