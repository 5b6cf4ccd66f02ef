import Platform

/// Measures times, in seconds.
enum BenchTimer {
  static func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = SystemClock.monotonic()
    try body()
    return Double(SystemClock.monotonic() - start) / 1e9
  }

  static func median(_ times: [Double]) -> Double {
    let sorted = times.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
  }

  /// Runs several contenders in turn, in another order in every round.
  static func race(
    rounds: Int, _ count: Int, _ body: (_ runner: Int, _ round: Int) throws -> Double
  ) rethrows -> BenchRounds {
    var times = [[Double]](repeating: [], count: count)
    for round in 0..<rounds {
      for step in 0..<count {
        let runner = (step + round) % count
        times[runner].append(try body(runner, round))
      }
    }
    return BenchRounds(times: times)
  }
}

/// A generator of numbers that are the same in every run.
struct BenchRandom: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// Returns bytes that do not compress.
  mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      var word = next()
      for _ in 0..<8 {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// Returns lines of text that look like source code.
  mutating func text(lines: Int) -> [UInt8] {
    let words = [
      "let", "value", "return", "store", "count", "index", "if", "node", "key", "=", "+",
    ]
    var text = ""
    for _ in 0..<lines {
      text += String(repeating: "  ", count: Int(next() % 4))
      for _ in 0..<(3 + Int(next() % 6)) {
        text += words[Int(next() % UInt64(words.count))]
        text += next() % 4 == 0 ? "\(next() % 1000) " : " "
      }
      text += "\n"
    }
    return Array(text.utf8)
  }
}
