import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Forgetting while other threads write and read.
@Suite(.timeLimit(.minutes(2)))
struct ForgetLoadTests {
  private struct Shared {
    var made: [(id: Version.ID, block: Int)] = []
    var faults: [String] = []
  }

  private static let key = Value.ID("k")

  /// A value of three blocks of a pool, with one byte of its own: patches and equal chunks.
  private static func text(_ pool: [[UInt8]], _ index: Int) -> [UInt8] {
    var bytes = (0..<3).flatMap { pool[(index * 7 + $0 * 3) % pool.count] }
    bytes[index % bytes.count] ^= 1
    return bytes
  }

  @Test("writers keep what they wrote, and readers get bytes or learn that they are forgotten")
  func load() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let store = try Store.open(path: path, create: true)
    store.limitSegments(to: 2_000_000)
    let reader = try Store.open(path: path, mode: .reader)
    var random = SeededRandom(seed: 11)
    let pool = (0..<8).map { _ in random.bytes(70_000) }
    let shared = Mutex(Shared())
    let end = ContinuousClock.now + .seconds(5)
    DispatchQueue.concurrentPerform(iterations: 4) { lane in
      var random = SeededRandom(seed: UInt64(lane))
      var index = 0
      do {
        while ContinuousClock.now < end, shared.withLock({ $0.faults.isEmpty }) {
          let made = shared.withLock { $0.made }
          switch lane {
          case 0:
            let text = Self.text(pool, index)
            let version = try store.makeVersion(
              basedOnPredecessor: made.last?.id,
              storing: [.insert(Value(id: Self.key, data: text))])
            if try store.value(id: Self.key, at: version.id)?.data != text {
              shared.withLock { $0.faults.append("the head is not what was written") }
            }
            shared.withLock { [index] in $0.made.append((version.id, index)) }
            index = (index * 5 + 1) % 97
          case 1, 2:
            guard let one = made.randomElement(using: &random) else { continue }
            let found = try ForgetTests.read(Self.key, at: one.id, in: lane == 1 ? store : reader)
            if found != .forgotten, found != .bytes(Self.text(pool, one.block)) {
              shared.withLock { $0.faults.append("other bytes were read") }
            }
          default:
            try store.forget(try ForgetTests.least(), at: ForgetTests.later(), limit: 50)
          }
        }
      } catch {
        shared.withLock { $0.faults.append("lane \(lane): \(error)") }
      }
    }
    let (made, faults) = shared.withLock { ($0.made, $0.faults) }
    #expect(faults.isEmpty, "\(faults)")
    #expect(made.count > 20)
    let last = try #require(made.last)
    #expect(
      try Store.open(path: path, mode: .reader).value(id: Self.key, at: last.id)?.data
        == Self.text(pool, last.block))
    try store.forget(try ForgetTests.least(), at: ForgetTests.later())
    let report = try store.verify()
    #expect(report.isSound, "\(report.damage)")
    #expect(report.forgotten > 10)
  }
}
