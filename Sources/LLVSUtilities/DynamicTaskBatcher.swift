/// Divides tasks into batches by their cost, and executes one batch after the other.
///
/// Unchecked: the state changes between batches only, and one batch runs at a time.
public final class DynamicTaskBatcher: @unchecked Sendable {
  public enum Error: Swift.Error {
    case couldNotFurtherGrowFailingBatch
  }

  public enum BatchCompletionOutcome {
    case definitive(Result<Void, any Swift.Error>)
    case growBatchAndReexecute
  }

  /// Returns the cost of a task, from 0 to 1; a batch ends before the sum would reach 1.
  public typealias TaskCostEvaluator = (_ index: Int) -> Float
  public typealias Completion = (Result<Void, any Swift.Error>) -> Void
  public typealias BatchCompletion = (BatchCompletionOutcome) -> Void
  /// Executes the tasks of a range and calls its second argument once, on any thread.
  public typealias BatchExecuter = (
    _ batchIndexRange: Range<Int>, _ calledUponBatchCompletion: @escaping BatchCompletion
  ) -> Void

  public let numberOfTasks: Int
  public let taskCostEvaluator: TaskCostEvaluator
  public let batchExecuter: BatchExecuter

  public init(
    numberOfTasks: Int, taskCostEvaluator: @escaping TaskCostEvaluator,
    batchExecuter: @escaping BatchExecuter
  ) {
    self.numberOfTasks = numberOfTasks
    self.taskCostEvaluator = taskCostEvaluator
    self.batchExecuter = batchExecuter
  }

  /// Executes all tasks; the completion is called once, on the thread of the last batch.
  public func start(executingUponCompletion completion: @escaping Completion) {
    let last = Box(value: completion)
    Task { last.value(await outcome()) }
  }

  /// Unchecked: one batch at a time uses the content.
  private struct Box<Value>: @unchecked Sendable { let value: Value }

  private func outcome() async -> Result<Void, any Swift.Error> {
    var start = 0
    var size: Int?
    while start < numberOfTasks {
      let end = size.map { start + $0 } ?? nextEnd(after: start)
      guard end <= numberOfTasks else { return .failure(Error.couldNotFurtherGrowFailingBatch) }
      switch await execute(start..<end) {
      case .definitive(.success):
        (start, size) = (end, nil)
      case .definitive(.failure(let error)): return .failure(error)
      case .growBatchAndReexecute: size = end - start + 1
      }
    }
    return .success(())
  }

  private func execute(_ range: Range<Int>) async -> BatchCompletionOutcome {
    let outcome = await withCheckedContinuation { continuation in
      batchExecuter(range) { continuation.resume(returning: Box(value: $0)) }
    }
    return outcome.value
  }

  /// Before the task that would make the costs reach 1, but after the first.
  private func nextEnd(after start: Int) -> Int {
    var cost: Float = 0
    var end = start
    while end < numberOfTasks {
      cost += taskCostEvaluator(end)
      if cost >= 1 { break }
      end += 1
    }
    return max(end, start + 1)
  }
}
