import Inodes
import LLVSCore
import Testing

@testable import RecordedTree

@Suite(.timeLimit(.minutes(1)))
struct NumberSourceTests {
  /// A store's counter.
  private final class Counter {
    private(set) var next: UInt64 = 2

    func allot(_ count: UInt64) -> UInt64 {
      defer { next += count }
      return next
    }
  }

  @Test func `no number up to one that was seen is handed out`() throws {
    let counter = Counter()
    let numbers = NumberSource { count in counter.allot(count) }
    #expect(try numbers.number() == InodeNumber(2))
    try numbers.skip(through: InodeNumber(100))
    #expect(try numbers.number() == InodeNumber(101))
    try numbers.skip(through: InodeNumber(1_000_000))
    #expect(try numbers.number() == InodeNumber(1_000_001))
    try numbers.skip(through: InodeNumber(5))
    #expect(try numbers.number() == InodeNumber(1_000_002))
  }

  @Test(arguments: [InodeNumber.limit, InodeNumber(.max - 1), InodeNumber(.max)])
  func `a forged number does not use the store's numbers up`(_ forged: InodeNumber) throws {
    let counter = Counter()
    let numbers = NumberSource { count in counter.allot(count) }
    try numbers.skip(through: forged)
    #expect(try numbers.number() == InodeNumber(2))
    #expect(counter.next < 10_000)
  }
}
