internal import Dispatch
import LLVSCore
internal import Platform
internal import Synchronization

/// Work that two threads share.
///
/// - Concurrency: the bodies must be able to run on two threads at once; the caller waits for both.
enum Parallel {
  /// Runs two bodies at once; where both fail, the first's error is thrown.
  static func both<A, B>(
    _ first: @escaping () throws(StoreError) -> A, _ second: @escaping () throws(StoreError) -> B
  ) throws(StoreError) -> (A, B) {
    nonisolated(unsafe) let (first, second) = (first, second)
    // One thread uses each variable until both are done.
    nonisolated(unsafe) var a: Result<A, StoreError>?
    nonisolated(unsafe) var b: Result<B, StoreError>?
    DispatchQueue.concurrentPerform(iterations: 2) { index in
      if index == 0 {
        a = Result { () throws(StoreError) in try first() }
      } else {
        b = Result { () throws(StoreError) in try second() }
      }
    }
    guard let a, let b else { preconditionFailure("concurrentPerform returns when both have run") }
    return (try a.get(), try b.get())
  }

  /// Runs a body that mostly waits on a thread of its own and another one meanwhile, which may
  /// share its own work out; if both fail, the first's error is thrown.
  static func beside<A, B>(
    _ first: @escaping () throws(StoreError) -> A, _ second: () throws(StoreError) -> B
  ) throws(StoreError) -> (A, B) {
    nonisolated(unsafe) let first = first
    // The other thread uses it until it is joined, or this one if there is no other.
    nonisolated(unsafe) var a: Result<A, StoreError>?
    let thread: SystemThread
    do throws(SystemError) {
      thread = try SystemThread(name: "llvs exchange") {
        a = Result { () throws(StoreError) in try first() }
      }
    } catch {
      // The system allows no more threads: one after the other.
      return (try first(), try second())
    }
    let b = Result<B, StoreError> { () throws(StoreError) in try second() }
    thread.join()
    guard let a else { preconditionFailure("a joined thread has run") }
    return (try a.get(), try b.get())
  }

  /// Returns the results of a body for 0 to `count`, computed by two threads that take sixteen
  /// indices at a time.
  static func map<Value>(
    _ count: Int, _ body: @escaping (Int) throws(StoreError) -> Value
  ) throws(StoreError) -> [Value] {
    let next = Counter()
    func work() throws(StoreError) -> [(Int, [Value])] {
      var done: [(Int, [Value])] = []
      while true {
        let start = next.value.wrappingAdd(16, ordering: .relaxed).oldValue
        guard start < count else { return done }
        var values: [Value] = []
        values.reserveCapacity(16)
        for index in start..<min(start + 16, count) { values.append(try body(index)) }
        done.append((start, values))
      }
    }
    let (a, b) = try both(work, work)
    return (a + b).sorted { $0.0 < $1.0 }.flatMap(\.1)
  }

  private final class Counter: Sendable {
    let value = Atomic<Int>(0)
  }
}

/// A flag that is set once, from any thread.
final class Flag: Sendable {
  private let value = Atomic<Bool>(false)

  var isSet: Bool { value.load(ordering: .relaxed) }

  func set() { value.store(true, ordering: .relaxed) }
}
