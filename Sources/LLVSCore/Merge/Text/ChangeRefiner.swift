/// Cuts the changes of one side of a merge into the smallest independent ones.
///
/// A removed run becomes one removal per item. In a replaced run, similar items replace each other; the rest do so
/// one by one if both sides have equally many, else they are one change. Work is bounded by steps, never by time,
/// so the result depends on the two sequences alone.
struct ChangeRefiner {
  private static let maximumPairs = 10_000
  /// The bytes of an item that are compared.
  private static let maximumLength = 400
  /// Items with at least this likeness, in hundredths, are paired.
  private static let threshold = 50
  private let old: (Int) -> ArraySlice<UInt8>
  private let new: (Int) -> ArraySlice<UInt8>
  /// The number of bytes that may still be compared.
  private var budget = 40_000_000

  /// `old` and `new` return the bytes of an item of the base and of the side.
  init(old: @escaping (Int) -> ArraySlice<UInt8>, new: @escaping (Int) -> ArraySlice<UInt8>) {
    self.old = old
    self.new = new
  }

  /// The same changes, cut: ascending, neighbours touch.
  mutating func refined(_ changes: [SequenceChange]) -> [SequenceChange] {
    var refined: [SequenceChange] = []
    for change in changes {
      if change.old.isEmpty || (change.old.count == 1 && change.new.count <= 1) {
        refined.append(change)
      } else {
        cut(change, into: &refined)
      }
    }
    return refined
  }

  private mutating func cut(_ change: SequenceChange, into refined: inout [SequenceChange]) {
    var (x, y) = (change.old.lowerBound, change.new.lowerBound)
    func fill(to a: Int, _ b: Int) {
      let (count, others) = (a - x, b - y)
      if count == others || others == 0 {
        for index in 0..<count {
          let start = y + (others == 0 ? 0 : index)
          refined.append(
            SequenceChange(
              old: (x + index)..<(x + index + 1), new: start..<(start + (others == 0 ? 0 : 1))))
        }
      } else {
        refined.append(SequenceChange(old: x..<a, new: y..<b))
      }
    }
    for (a, b) in pairs(change) {
      fill(to: a, b)
      refined.append(SequenceChange(old: a..<(a + 1), new: b..<(b + 1)))
      (x, y) = (a + 1, b + 1)
    }
    fill(to: change.old.upperBound, change.new.upperBound)
  }

  /// The pairs of items, ascending in both, with the greatest total likeness.
  private mutating func pairs(_ change: SequenceChange) -> [(Int, Int)] {
    let (n, m) = (change.old.count, change.new.count)
    guard n > 0, m > 0, n <= Self.maximumPairs, m <= Self.maximumPairs, n * m <= Self.maximumPairs
    else { return [] }
    let before = change.old.map { Item(old($0)) }
    let after = change.new.map { Item(new($0)) }
    let cost =
      before.reduce(0) { $0 + $1.bytes.count } * m + after.reduce(0) { $0 + $1.bytes.count } * n
    guard cost <= budget else { return [] }
    budget -= cost
    var likeness = [Int](repeating: 0, count: n * m)
    var best = [Int](repeating: 0, count: (n + 1) * (m + 1))
    for i in stride(from: n - 1, through: 0, by: -1) {
      for j in stride(from: m - 1, through: 0, by: -1) {
        let value = before[i].likeness(to: after[j])
        likeness[i * m + j] = value
        let paired = value < Self.threshold ? 0 : value + best[(i + 1) * (m + 1) + j + 1]
        best[i * (m + 1) + j] = max(
          paired, best[(i + 1) * (m + 1) + j], best[i * (m + 1) + j + 1])
      }
    }
    var pairs: [(Int, Int)] = []
    var (i, j) = (0, 0)
    while i < n, j < m {
      let value = likeness[i * m + j]
      let here = best[i * (m + 1) + j]
      if value >= Self.threshold, here == value + best[(i + 1) * (m + 1) + j + 1] {
        pairs.append((change.old.lowerBound + i, change.new.lowerBound + j))
        (i, j) = (i + 1, j + 1)
      } else if here == best[(i + 1) * (m + 1) + j] {
        i += 1
      } else {
        j += 1
      }
    }
    return pairs
  }

  private struct Item {
    /// The bytes without the line end.
    let bytes: ArraySlice<UInt8>
    /// Every pair of successive bytes, ascending.
    private let couples: [UInt16]

    init(_ item: ArraySlice<UInt8>) {
      var bytes = item.prefix(ChangeRefiner.maximumLength)
      while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
      self.bytes = bytes
      couples = zip(bytes, bytes.dropFirst()).map { UInt16($0) << 8 | UInt16($1) }.sorted()
    }

    /// The likeness of both, in hundredths: by common pairs of bytes or common ends.
    func likeness(to other: Item) -> Int {
      let longest = max(bytes.count, other.bytes.count)
      guard longest > 0 else { return 100 }
      let most = min(bytes.count, other.bytes.count)
      var ends = zip(bytes, other.bytes).prefix { $0 == $1 }.count
      ends += min(
        most - ends, zip(bytes.reversed(), other.bytes.reversed()).prefix { $0 == $1 }.count)
      let byEnds = 100 * ends / longest
      let total = couples.count + other.couples.count
      guard total > 0, byEnds < 100 else { return byEnds }
      var (i, j, common) = (0, 0, 0)
      while i < couples.count, j < other.couples.count {
        if couples[i] == other.couples[j] {
          (i, j, common) = (i + 1, j + 1, common + 1)
        } else if couples[i] < other.couples[j] {
          i += 1
        } else {
          j += 1
        }
      }
      return max(byEnds, 200 * common / total)
    }
  }
}
