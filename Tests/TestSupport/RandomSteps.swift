/// The random numbers of a life, by the steps that draw them: the life can be repeated without some steps, and the
/// others draw what they drew.
package final class RandomSteps: RandomNumberGenerator {
  /// A step: its place among those of the step around it, after the places of the steps around that one.
  package typealias Step = [Int]

  private struct Frame {
    var step: Step
    var inner = 0
    var drawn = 0
  }

  private let seed: UInt64
  private let without: Set<Step>
  private var random: SeededRandom
  private var numbers: [Step: [UInt64]]
  private var frames = [Frame(step: [])]
  /// The steps that were made.
  package private(set) var steps: [Step] = []

  private init(_ seed: UInt64, _ numbers: [Step: [UInt64]], without: Set<Step>) {
    (self.seed, self.numbers, self.without) = (seed, numbers, without)
    random = SeededRandom(seed: seed)
  }

  package convenience init(seed: UInt64) { self.init(seed, [:], without: []) }

  package func next() -> UInt64 {
    let frame = frames[frames.count - 1]
    frames[frames.count - 1].drawn += 1
    if let known = numbers[frame.step], frame.drawn < known.count { return known[frame.drawn] }
    let number = random.next()
    numbers[frame.step, default: []].append(number)
    return number
  }

  /// Makes a step, unless it is left out.
  package func step(_ body: () throws -> Void) rethrows {
    let frame = frames[frames.count - 1]
    frames[frames.count - 1].inner += 1
    let step = frame.step + [frame.inner]
    guard !without.contains(step) else { return }
    steps.append(step)
    frames.append(Frame(step: step))
    defer { frames.removeLast() }
    try body()
  }

  /// Returns the same numbers again.
  package func again() -> RandomSteps { RandomSteps(seed, numbers, without: without) }

  /// Leaves out steps as long as a life without them fails in the same way.
  ///
  /// - Parameter failure: lives with some numbers, and returns how that fails; nil if it does not.
  /// - Returns: the numbers of a life that does not fail if one more step is left out.
  package func shrunk<Failure: Equatable>(
    _ failure: (RandomSteps) throws -> Failure?
  ) rethrows -> RandomSteps {
    var best = again()
    let first = try failure(best)
    var size = best.steps.count
    while size > 0 {
      var start = 0
      while start < best.steps.count {
        let left = best.steps.dropFirst(start).prefix(size)
        let next = RandomSteps(seed, numbers, without: best.without.union(left))
        if try failure(next) == first, next.steps.count < best.steps.count {
          best = next
        } else {
          start += size
        }
      }
      size /= 2
    }
    return best
  }
}
