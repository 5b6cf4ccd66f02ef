import Platform
import Testing

@Suite("Binary search", .timeLimit(.minutes(1)))
struct BinarySearchTests {
  @Test("The index is that of the first element for which the predicate is true", arguments: 0...40)
  func index(count: Int) {
    let numbers = Array(0..<count)
    for limit in -1...count + 1 {
      let index = numbers.partitioningIndex { $0 >= limit }
      #expect(index == max(0, min(limit, count)))
      // A slice has indices of its own.
      let slice = numbers.dropFirst(3)
      #expect(
        slice.partitioningIndex { $0 >= limit }
          == (slice.firstIndex { $0 >= limit } ?? slice.endIndex))
    }
  }

  @Test("The predicate is asked about few elements")
  func calls() {
    var calls = 0
    let index = (0..<1_000_000).partitioningIndex { number in
      calls += 1
      return number >= 765_432
    }
    #expect(index == 765_432 && calls <= 20)
  }

  private struct Fault: Error {}

  @Test("The predicate's error is thrown")
  func errors() {
    #expect(throws: Fault.self) {
      _ = try [1, 2].partitioningIndex { (_) throws(Fault) in throw Fault() }
    }
  }
}
