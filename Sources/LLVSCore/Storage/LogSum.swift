/// SQLite's checksum of the frames of its log: two linear sums of 32-bit words.
struct LogSum: Equatable {
  private var first: UInt32 = 0
  private var second: UInt32 = 0

  init() {}

  init(_ bytes: [UInt8], at place: Int) {
    first = bytes.word(place, isBigEndian: true)
    second = bytes.word(place + 4, isBigEndian: true)
  }

  /// Continues the checksum over bytes; their number is a multiple of eight.
  mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
    var (a, b) = (first, second)
    bytes.withUnsafeBytes { raw in
      var at = 0
      while at + 8 <= raw.count {
        let x = raw.loadUnaligned(fromByteOffset: at, as: UInt32.self)
        let y = raw.loadUnaligned(fromByteOffset: at + 4, as: UInt32.self)
        a &+= (isBigEndian ? UInt32(bigEndian: x) : UInt32(littleEndian: x)) &+ b
        b &+= (isBigEndian ? UInt32(bigEndian: y) : UInt32(littleEndian: y)) &+ a
        at += 8
      }
    }
    (first, second) = (a, b)
  }

  /// The only bit, of a header's 64, in which another checksum differs; nil if more bits differ.
  func flippedBit(to other: LogSum) -> Int? {
    let difference = UInt64(first ^ other.first) << 32 | UInt64(second ^ other.second)
    guard difference.nonzeroBitCount == 1 else { return nil }
    // Big-endian: byte 0 holds the highest bits.
    let bit = difference.trailingZeroBitCount
    return (7 - bit / 8) * 8 + bit % 8
  }

  /// Returns each byte that, with one bit flipped, gives the wanted checksum.
  ///
  /// Usually there is one. But the sums have 32 bits, and the contribution of a word's highest bits repeats every
  /// few words: for such a bit up to a third of all words are possible.
  static func repairs(
    of bytes: [UInt8], from seed: LogSum, to wanted: LogSum, isBigEndian: Bool
  ) -> [(place: Int, byte: UInt8)] {
    var found = seed
    found.add(bytes[...], isBigEndian: isBigEndian)
    let change = (wanted.first &- found.first, wanted.second &- found.second)
    // The effect of one unit on the two final sums, for the two words of a pair; each later pair turns (a, b) into
    // (a + b, a + 2b).
    var even: (UInt32, UInt32) = (1, 1)
    var odd: (UInt32, UInt32) = (0, 1)
    var repairs: [(place: Int, byte: UInt8)] = []
    for pair in stride(from: bytes.count / 8 - 1, through: 0, by: -1) {
      for (index, effect) in [even, odd].enumerated() {
        let start = pair * 8 + index * 4
        let word = bytes.word(start, isBigEndian: isBigEndian)
        for bit in 0..<32 {
          let one = UInt32(1) << UInt32(bit)
          let step = word & one == 0 ? one : 0 &- one
          guard step &* effect.0 == change.0, step &* effect.1 == change.1 else { continue }
          let place = start + (isBigEndian ? 3 - bit / 8 : bit / 8)
          repairs.append((place, bytes[place] ^ 1 << UInt8(bit % 8)))
        }
      }
      even = (even.0 &+ even.1, even.0 &+ 2 &* even.1)
      odd = (odd.0 &+ odd.1, odd.0 &+ 2 &* odd.1)
    }
    return repairs
  }
}

extension [UInt8] {
  func word(_ place: Int, isBigEndian: Bool) -> UInt32 {
    let value = withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt32.self) }
    return isBigEndian ? UInt32(bigEndian: value) : UInt32(littleEndian: value)
  }
}
