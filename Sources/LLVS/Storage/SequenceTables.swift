// How zstd codes the sequences of a block with its predefined distributions (RFC 8878, 3.1.1.3.2): which
// code stands for a length, and how a code and the state that follows it become bits.

/// The states of a finite state entropy coder for one predefined distribution.
struct SequenceTable: Sendable {
  let accuracy: Int
  private struct State {
    var symbol = 0
    var bits = 0
    var baseline = 0
  }
  private let states: [State]
  /// For each symbol and the state that is to follow, the state before: `symbol << accuracy | next`.
  private let before: [UInt8]

  /// Lays out the states as the decoder does (RFC 8878, 4.1.1); -1 is a probability below one.
  init(accuracy: Int, _ probabilities: [Int]) {
    self.accuracy = accuracy
    let size = 1 << accuracy
    var symbols = [Int](repeating: 0, count: size)
    var top = size
    for (symbol, probability) in probabilities.enumerated() where probability < 0 {
      top -= 1
      symbols[top] = symbol
    }
    var position = 0
    for (symbol, probability) in probabilities.enumerated() where probability > 0 {
      for _ in 0..<probability {
        symbols[position] = symbol
        repeat {
          position = (position + size >> 1 + size >> 3 + 3) & (size - 1)
        } while position >= top
      }
    }
    var next = probabilities.map { max(1, $0) }
    var states = [State](repeating: State(), count: size)
    var before = [UInt8](repeating: 0, count: probabilities.count << accuracy)
    for (index, symbol) in symbols.enumerated() {
      let number = next[symbol]
      next[symbol] += 1
      let bits = accuracy - (Int.bitWidth - 1 - number.leadingZeroBitCount)
      let baseline = number << bits - size
      states[index] = State(symbol: symbol, bits: bits, baseline: baseline)
      for state in baseline..<(baseline + 1 << bits) {
        before[symbol << accuracy | state] = UInt8(index)
      }
    }
    self.states = states
    self.before = before
  }

  /// A state of a symbol from which the decoder reads nothing more.
  func last(_ symbol: Int) -> Int { Int(before[symbol << accuracy]) }

  /// The state of a symbol before another state; the bits that lead from one to the other are written.
  @inline(__always)
  func step(_ symbol: Int, before state: inout Int, into out: inout BackwardBits) {
    let index = Int(before[symbol << accuracy | state])
    out.append(UInt64(state - states[index].baseline), states[index].bits)
    state = index
  }

  static let literalLengths = SequenceTable(
    accuracy: 6,
    [
      4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1,
      1,
      -1, -1, -1, -1,
    ])
  static let matchLengths = SequenceTable(
    accuracy: 6,
    [
      1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
      1,
      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ])
  static let offsets = SequenceTable(
    accuracy: 5,
    [
      1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
    ])
}

/// A length as zstd codes it: a symbol, and further bits.
struct LengthCode {
  let symbol: Int
  let extra: UInt64
  let bits: Int

  private init(symbol: Int, extra: Int, bits: Int) {
    self.symbol = symbol
    self.extra = UInt64(extra)
    self.bits = bits
  }

  /// How many literals stand before a match; below 131,072.
  init(literals count: Int) {
    self = LengthCode.find(count, powersFrom: 64, 19, LengthCode.literals)
  }

  /// The length of a match; from 3 to 131,074.
  init(match count: Int) {
    self = LengthCode.find(count - 3, powersFrom: 128, 36, LengthCode.matches)
  }

  /// Where a match stands, 1 to 3 being the places of the last three.
  init(offset value: Int) {
    let symbol = Int.bitWidth - 1 - value.leadingZeroBitCount
    self.init(symbol: symbol, extra: value - 1 << symbol, bits: symbol)
  }

  /// Longer lengths have symbols for the powers of two, the shorter ones those of a table.
  private static func find(
    _ value: Int, powersFrom least: Int, _ shift: Int, _ short: [Short]
  ) -> LengthCode {
    guard value < least else {
      let power = Int.bitWidth - 1 - value.leadingZeroBitCount
      return LengthCode(symbol: power + shift, extra: value - 1 << power, bits: power)
    }
    var symbol = min(value, short.count - 1)
    while short[symbol].base > value { symbol -= 1 }
    return LengthCode(symbol: symbol, extra: value - short[symbol].base, bits: short[symbol].bits)
  }

  private struct Short {
    let base: Int
    let bits: Int
  }

  /// The symbols from 0 on, from how many bits each of them takes.
  private static func short(_ bits: [Int]) -> [Short] {
    var base = 0
    return bits.map { bits in
      defer { base += 1 << bits }
      return Short(base: base, bits: bits)
    }
  }

  private static let literals = short([Int](repeating: 0, count: 16) + [1, 1, 1, 1, 2, 2, 3, 3, 4])
  private static let matches = short(
    [Int](repeating: 0, count: 32) + [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5])
}

/// Bits that are read from their end: what is appended last is read first.
struct BackwardBits {
  private(set) var bytes: [UInt8] = []
  private var held: UInt64 = 0
  private var count = 0

  /// Appends the low bits of a value, at most 32 of them, which has no others.
  @inline(__always)
  mutating func append(_ value: UInt64, _ bits: Int) {
    held |= value << UInt64(count)
    count += bits
    while count >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: held))
      held >>= 8
      count -= 8
    }
  }

  /// Marks the end, from where the reader begins.
  mutating func finish() {
    append(1, 1)
    if count > 0 { bytes.append(UInt8(truncatingIfNeeded: held)) }
    count = 0
  }
}
