/// The runs of some bytes that are not in older ones.
///
/// Blocks of the older bytes are found by a hash that rolls over the new ones, as rsync finds them (A. Tridgell,
/// "Efficient Algorithms for Sorting and Synchronization", 1999), and matches are extended both ways. Short matches
/// count as new. Takes O(*n*) for bytes without many equal blocks.
struct NewRuns {
  private static let block = 32
  private static let shortestMatch = 64
  private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
  /// ``multiplier`` to the power of ``block``.
  private static let leaving = (0..<block).reduce(UInt64(1)) { power, _ in power &* multiplier }

  /// Ascending, not empty.
  private(set) var runs: [Range<Int>] = []
  /// The bytes of all runs.
  private(set) var length = 0
  /// The parts of the older bytes that the other new bytes equal.
  private(set) var matched: [Range<Int>] = []

  /// Nil if the runs have more than `limit` bytes.
  init?(of new: UnsafeRawBufferPointer, after base: [UInt8], atMost limit: Int) {
    let isFound = base.withUnsafeBytes { base in find(in: new, base, limit) }
    guard isFound else { return nil }
  }

  /// Returns the runs of the new bytes, one after the other.
  func bytes(of new: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length)
    for run in runs { bytes += new[run] }
    return bytes
  }

  private mutating func find(
    in new: UnsafeRawBufferPointer, _ base: UnsafeRawBufferPointer, _ limit: Int
  ) -> Bool {
    let blocks = BlockTable(base)
    var start = 0
    var place = 0
    var hash = Self.hash(new, at: 0)
    while place + Self.block <= new.count {
      guard place - start + length <= limit else { return false }
      if let found = blocks.place(hash),
        let (own, old) = Self.match(new, place, from: start, base, found)
      {
        add(start..<own.lowerBound)
        matched.append(old)
        (start, place) = (own.upperBound, own.upperBound)
        hash = Self.hash(new, at: place)
        continue
      }
      if place + Self.block < new.count {
        hash =
          hash &* Self.multiplier &+ UInt64(new[place + Self.block])
          &- UInt64(new[place]) &* Self.leaving
      }
      place += 1
    }
    add(start..<new.count)
    return length <= limit
  }

  private mutating func add(_ run: Range<Int>) {
    guard !run.isEmpty else { return }
    runs.append(run)
    length += run.count
  }

  /// The hash of the block at a place; 0 if there is none.
  fileprivate static func hash(_ bytes: UnsafeRawBufferPointer, at place: Int) -> UInt64 {
    guard place + block <= bytes.count else { return 0 }
    var hash: UInt64 = 0
    for index in place..<(place + block) { hash = hash &* multiplier &+ UInt64(bytes[index]) }
    return hash
  }

  /// Extends a match; nil if it is short. It begins at `first` or later in the new bytes.
  private static func match(
    _ new: UnsafeRawBufferPointer, _ place: Int, from first: Int, _ base: UnsafeRawBufferPointer,
    _ found: Int
  ) -> (new: Range<Int>, base: Range<Int>)? {
    var before = 0
    while place - before > first, found - before > 0,
      new[place - before - 1] == base[found - before - 1]
    {
      before += 1
    }
    var after = 0
    let most = min(new.count - place, base.count - found)
    while after + 8 <= most,
      new.loadUnaligned(fromByteOffset: place + after, as: UInt64.self)
        == base.loadUnaligned(fromByteOffset: found + after, as: UInt64.self)
    {
      after += 8
    }
    while after < most, new[place + after] == base[found + after] { after += 1 }
    guard before + after >= shortestMatch else { return nil }
    return ((place - before)..<(place + after), (found - before)..<(found + after))
  }

  /// The places of blocks by their hashes. Of equal ones, and of others with one slot, the first is found.
  private struct BlockTable {
    private var slots: [Int32]
    private let shift: UInt64

    init(_ base: UnsafeRawBufferPointer) {
      let count = max(1, base.count / block)
      let bits = UInt64(Int.bitWidth - count.leadingZeroBitCount) + 1
      shift = 64 - bits
      slots = [Int32](repeating: -1, count: 1 << bits)
      for place in stride(from: 0, through: base.count - block, by: block) {
        let slot = slot(NewRuns.hash(base, at: place))
        if slots[slot] < 0 { slots[slot] = Int32(place) }
      }
    }

    private func slot(_ hash: UInt64) -> Int { Int((hash &* multiplier) >> shift) }

    func place(_ hash: UInt64) -> Int? {
      let place = slots[slot(hash)]
      return place < 0 ? nil : Int(place)
    }
  }
}
