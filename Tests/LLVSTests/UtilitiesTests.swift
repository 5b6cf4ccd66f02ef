import Foundation
import LLVS
import Testing

/// The small tools of the original.
@Suite("Utilities", .timeLimit(.minutes(1)))
struct UtilitiesTests {
  @Test("a difference of arrays leads from one to the other, and two of them are merged")
  func differences() {
    let (base, one, other) = (Array("abcdef"), Array("abXcdf"), Array("aYbdefZ"))
    #expect(base.applying(base.diff(leadingTo: one)) == one)
    #expect(base.applying(base.diff(leadingTo: [])) == [])
    #expect([].applying([Character]().diff(leadingTo: one)) == one)
    let merged = ArrayDiff(
      merging: base.diff(leadingTo: one), with: base.diff(leadingTo: other))
    #expect(String(base.applying(merged)) == "aYbXdfZ")
    let both = ArrayDiff(
      merging: base.diff(leadingTo: Array("abc1def")), with: base.diff(leadingTo: Array("abc2def")))
    #expect(String(base.applying(both)) == "abc12def")
    for change in merged.incrementalChanges { #expect(change.isInsertion != change.isDeletion) }
  }

  @Test("random arrays: a difference is right, and merging with none changes nothing")
  func randomDifferences() {
    for _ in 0..<300 {
      let arrays = (0..<2).map { _ in (0..<Int.random(in: 0...8)).map { _ in Int.random(in: 0...3) }
      }
      let diff = arrays[0].diff(leadingTo: arrays[1])
      #expect(arrays[0].applying(diff) == arrays[1])
      let none = arrays[0].diff(leadingTo: arrays[0])
      #expect(arrays[0].applying(ArrayDiff(merging: diff, with: none)) == arrays[1])
      #expect(arrays[0].applying(ArrayDiff(merging: none, with: diff)) == arrays[1])
    }
  }

  @Test("a cache keeps what is used, and forgets the oldest")
  func cache() {
    let cache = Cache<Int>(numberOfGenerations: 2, regenerationLimit: 10)
    for number in 0..<100 {
      cache.setValue(number, for: number)
      #expect(cache.value(for: 0) == 0)
    }
    #expect(cache.value(for: 99) == 99 && cache.value(for: 50) == nil)
    cache.removeValue(for: 99)
    #expect(cache.value(for: 99) == nil)
    cache.purgeAllValues()
    #expect(cache.value(for: 0) == nil)
    // A generation ends as in the original: after one value more than the limit.
    let small = Cache<Int>(numberOfGenerations: 2, regenerationLimit: 1)
    for number in 0..<5 { small.setValue(number, for: number) }
    #expect(small.value(for: 1) == nil && small.value(for: 2) == 2)
  }

  private struct Failure: Error {}

  /// Unchecked: the property itself can be used by any thread.
  private final class Counter: @unchecked Sendable {
    @Atomic var count = 0
  }

  @Test("tasks run in order, up to the first failure")
  func tasks() async {
    for failing in [nil, 1] as [Int?] {
      let counter = Counter()
      let tasks = (0..<3).map { index in
        AsynchronousTask { finish in
          counter.count += 1
          finish(index == failing ? .failure(Failure()) : .success(()))
        }
      }
      let isSuccess = await withCheckedContinuation { continuation in
        tasks.executeInOrder { continuation.resume(returning: $0.isSuccess) }
      }
      #expect(isSuccess == (failing == nil) && counter.count == (failing == nil ? 3 : 2))
      #expect(tasks[2].result?.isSuccess == isSuccess)
    }
  }

  @Test("batches are divided by cost, and grow when they are asked to")
  func batches() async {
    // Unchecked: the property itself can be used by any thread.
    final class Ranges: @unchecked Sendable {
      @Guarded var all: [Range<Int>] = []
    }
    let ranges = Ranges()
    let batcher = DynamicTaskBatcher(
      numberOfTasks: 5, taskCostEvaluator: { $0 == 0 ? 2 : 0.4 },
      batchExecuter: { range, done in
        ranges.all.append(range)
        done(range == 1..<3 ? .growBatchAndReexecute : .definitive(.success(())))
      })
    let isSuccess = await withCheckedContinuation { continuation in
      batcher.start { continuation.resume(returning: $0.isSuccess) }
    }
    #expect(isSuccess && ranges.all == [0..<1, 1..<3, 1..<4, 4..<5])
    let failing = DynamicTaskBatcher(
      numberOfTasks: 2, taskCostEvaluator: { _ in 0.1 },
      batchExecuter: { _, done in done(.growBatchAndReexecute) })
    let outcome = await withCheckedContinuation { continuation in
      failing.start { continuation.resume(returning: $0.isSuccess) }
    }
    #expect(!outcome)
    #expect((0...9).split(intoRangesOfLength: 4) == [0...3, 4...7, 8...9])
  }
}
