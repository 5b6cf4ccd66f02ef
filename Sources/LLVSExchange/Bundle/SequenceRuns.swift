import LLVSCore
internal import Platform

struct SequenceRuns: Hashable, Sendable {
  /// Ascending, with at least one number between two of them.
  private(set) var runs: [ClosedRange<UInt64>] = []
  static let greatest = UInt64(Int64.max) - 1

  init(_ numbers: some Sequence<UInt64> = [UInt64]()) {
    for number in numbers.sorted() { append(number) }
  }
  var isEmpty: Bool { runs.isEmpty }

  /// Adds a number that is at least as great as all in the set.
  private mutating func append(_ number: UInt64) {
    guard let last = runs.last else { return runs.append(number...number) }
    if number <= last.upperBound { return }
    if number == last.upperBound + 1 {
      runs[runs.count - 1] = last.lowerBound...number
    } else {
      runs.append(number...number)
    }
  }

  /// - Complexity: O(log *n*) in the number of runs.
  func contains(_ number: UInt64) -> Bool {
    let index = runs.partitioningIndex { number <= $0.upperBound }
    return index < runs.count && runs[index].contains(number)
  }

  func union(_ other: SequenceRuns) -> SequenceRuns {
    var all = SequenceRuns()
    for run in (runs + other.runs).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = all.runs.last, run.lowerBound <= last.upperBound + 1 {
        all.runs[all.runs.count - 1] = last.lowerBound...Swift.max(last.upperBound, run.upperBound)
      } else {
        all.runs.append(run)
      }
    }
    return all
  }

  /// Returns the numbers up to a bound that are not in the set.
  func gaps(upTo bound: UInt64) -> SequenceRuns {
    var gaps = SequenceRuns()
    forEachGap(upTo: bound) { gap in
      gaps.runs.append(gap)
      return true
    }
    return gaps
  }

  /// Returns true if the set holds all numbers up to a bound that are not in another.
  func holdsGaps(of other: SequenceRuns, upTo bound: UInt64) -> Bool {
    var place = 0
    return other.forEachGap(upTo: bound) { gap in
      while place < runs.count, runs[place].upperBound < gap.lowerBound { place += 1 }
      return place < runs.count && runs[place].lowerBound <= gap.lowerBound
        && gap.upperBound <= runs[place].upperBound
    }
  }

  /// Calls a body with each gap up to a bound until it returns false; returns the last result.
  @discardableResult
  private func forEachGap(upTo bound: UInt64, _ body: (ClosedRange<UInt64>) -> Bool) -> Bool {
    var next: UInt64 = 0
    for run in runs {
      guard next <= bound else { return true }
      if run.lowerBound > next, !body(next...Swift.min(run.lowerBound - 1, bound)) { return false }
      next = run.upperBound + 1
    }
    return next > bound || body(next...bound)
  }

  // As bytes: varint runs | each: varint numbers between it and the run before, varint numbers in it
  func encode(to bytes: inout [UInt8]) {
    bytes.append(varint: UInt64(runs.count))
    var next: UInt64 = 0
    for run in runs {
      bytes.append(varint: run.lowerBound - next)
      bytes.append(varint: run.upperBound - run.lowerBound + 1)
      next = run.upperBound + 1
    }
  }

  init?(_ reader: inout ByteReader, upTo bound: UInt64) {
    // Each run takes at least two bytes, so nothing is allocated that the bytes do not hold.
    guard let count = reader.varint(), count <= UInt64(BundleFormat.maximumRuns),
      count <= UInt64(reader.remaining) / 2
    else { return nil }
    var next: UInt64 = 0
    for index in 0..<count {
      guard let gap = reader.varint(), let length = reader.varint(), length > 0,
        index == 0 || gap > 0, next <= bound, gap <= bound - next,
        length - 1 <= bound - next - gap
      else { return nil }
      let first = next + gap
      runs.append(first...(first + length - 1))
      next = first + length
    }
  }
}
