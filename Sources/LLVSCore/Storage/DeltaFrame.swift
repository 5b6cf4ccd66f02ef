internal import CZstd

/// The common parts of a map's node and another one, its base, found without zstd's search: most items of both have
/// the same keys and nearly the same bytes. The inputs need not be valid nodes: the frame unpacks to any bytes.
struct DeltaFrame {
  /// The greatest length of a block; longer nodes are left to zstd.
  private static let longest = 65_536
  /// A shorter match takes as many bytes as it saves.
  private static let shortestMatch = 6
  private let base: UnsafeRawBufferPointer
  private let bytes: UnsafeRawBufferPointer
  private var sequences: [ZSTD_Sequence] = []
  private var literals = 0
  /// Literals since the last match.
  private var run = 0
  private var isTooLong = false
  private let capacity: Int

  enum Outcome {
    /// `head`, then the frame.
    case frame([UInt8])
    /// The frame would be longer than `capacity`, and a search would not find a shorter one.
    case tooLong
    /// An input is no node or too long, or a search may find a shorter frame.
    case unknown
  }

  static func make(
    _ bytes: UnsafeRawBufferPointer, from base: UnsafeRawBufferPointer, capacity: Int,
    after head: [UInt8], _ compression: Compression
  ) -> Outcome {
    guard bytes.count <= longest, base.count <= longest, bytes.count > MapNode.headerLength,
      base.count > MapNode.headerLength, bytes[1] == base[1]
    else { return .unknown }
    var frame = DeltaFrame(base: base, bytes: bytes, capacity: capacity)
    let level = Int(bytes[1])
    // Above the leaves the differences are digests, which cannot be compressed.
    let areDigests = level > 0
    guard frame.compareItems(level: level), !frame.sequences.isEmpty, !frame.isTooLong else {
      return frame.isTooLong && areDigests ? .tooLong : .unknown
    }
    // The last literals, which end the only block.
    frame.sequences.append(
      ZSTD_Sequence(offset: 0, litLength: UInt32(frame.run), matchLength: 0, rep: 0))
    let encoded = compression.delta(
      bytes, sequences: frame.sequences, capacity: capacity, after: head, isPlain: areDigests)
    return encoded.map { .frame($0) } ?? (areDigests ? .tooLong : .unknown)
  }

  /// Walks through the items of both nodes in the order of keys; false if either is not a node.
  private mutating func compareItems(level: Int) -> Bool {
    if bytes.part(0, MapNode.headerLength).compare(to: base.part(0, MapNode.headerLength)) == 0 {
      match(MapNode.headerLength, offset: base.count)
    } else {
      append(MapNode.headerLength)
    }
    var (position, other) = (MapNode.headerLength, MapNode.headerLength)
    var previous: (start: Int, length: Int)?
    while position < bytes.count {
      guard !isTooLong else { return false }
      if let last = matchItems(position, other) {
        previous = last
        let end = last.start + last.length
        other += end - position
        position = end
        continue
      }
      guard let length = DeltaFrame.length(of: bytes, at: position) else { return false }
      var isEncoded = false
      if other < base.count {
        guard let otherLength = DeltaFrame.length(of: base, at: other),
          let order = DeltaFrame.order(bytes, position, length, base, other, otherLength, level)
        else { return false }
        if order >= 0 {
          if order == 0 { compare(position, length, in: base, at: other, otherLength) }
          isEncoded = order == 0
          other += otherLength
          // The node lacks the base's item; the next item of the base may have this key.
          if !isEncoded { continue }
        }
      }
      if !isEncoded {
        // A new item resembles its neighbour.
        if let previous {
          compare(position, length, in: bytes, at: previous.start, previous.length)
        } else {
          append(length)
        }
      }
      previous = (position, length)
      position += length
    }
    return true
  }

  /// Matches the equal items from two positions on and returns the last of them; nil if there is none.
  private mutating func matchItems(_ position: Int, _ other: Int) -> (start: Int, length: Int)? {
    let same = DeltaFrame.equal(
      bytes, from: position, and: base, from: other,
      atMost: min(bytes.count - position, base.count - other))
    var last: (start: Int, length: Int)?
    var end = position
    while let length = DeltaFrame.length(of: bytes, at: end), end + length <= position + same {
      last = (end, length)
      end += length
    }
    guard last != nil else { return nil }
    match(end - position, offset: base.count + position - other)
    return last
  }

  /// Returns the length of the item at a position; nil if there is none.
  private static func length(of bytes: UnsafeRawBufferPointer, at start: Int) -> Int? {
    guard bytes.count - start >= 16 else { return nil }
    let length = Int(bytes.bigEndian(UInt32.self, at: start))
    return length >= 16 && length <= bytes.count - start ? length : nil
  }

  /// Compares the keys of two items; nil if an item has no key.
  private static func order(
    _ a: UnsafeRawBufferPointer, _ start: Int, _ length: Int, _ b: UnsafeRawBufferPointer,
    _ otherStart: Int, _ otherLength: Int, _ level: Int
  ) -> Int? {
    let field = level == 0 ? 9 : 4
    let count = Int(a.bigEndian(UInt32.self, at: start + field))
    let otherCount = Int(b.bigEndian(UInt32.self, at: otherStart + field))
    guard count <= length - field - 4, otherCount <= otherLength - field - 4 else { return nil }
    return a.part(start + field + 4, count).compare(to: b.part(otherStart + field + 4, otherCount))
  }

  /// Encodes a part of the node by a part of the base, or of the node before it: equal bytes from the front and, if
  /// the lengths differ, from the back.
  private mutating func compare(
    _ start: Int, _ length: Int, in source: UnsafeRawBufferPointer, at other: Int,
    _ otherLength: Int
  ) {
    // Offsets count as if the node followed the base.
    let shift = source.baseAddress == base.baseAddress ? 0 : base.count
    let common = min(length, otherLength)
    var tail = 0
    if length != otherLength {
      while tail < common,
        bytes[start + length - 1 - tail] == source[other + otherLength - 1 - tail]
      {
        tail += 1
      }
    }
    let offset = base.count + start - shift - other
    let end = min(common, length - tail)
    var (index, encoded) = (0, 0)
    while index < end {
      let equal = DeltaFrame.equal(
        bytes, from: start + index, and: source, from: other + index, atMost: end - index)
      if equal >= DeltaFrame.shortestMatch || equal > 0 && encoded == index && continues(offset) {
        append(index - encoded)
        match(equal, offset: offset)
        encoded = index + equal
      }
      // Skips the byte that differs and those after it: in two digests nearly all bytes differ.
      index += equal + 1
      index += DeltaFrame.different(
        bytes, from: start + index, and: source, from: other + index, atMost: end - index)
    }
    append(length - tail - encoded)
    guard tail > 0 else { return }
    guard tail >= DeltaFrame.shortestMatch else { return append(tail) }
    match(tail, offset: base.count + start + length - shift - other - otherLength)
  }

  @inline(__always)
  private static func equal(
    _ a: UnsafeRawBufferPointer, from start: Int, and b: UnsafeRawBufferPointer, from other: Int,
    atMost most: Int
  ) -> Int {
    var equal = 0
    while equal + 32 <= most {
      let differences =
        difference(a, start + equal, b, other + equal)
        | difference(a, start + equal + 8, b, other + equal + 8)
        | difference(a, start + equal + 16, b, other + equal + 16)
        | difference(a, start + equal + 24, b, other + equal + 24)
      if differences != 0 { break }
      equal += 32
    }
    while equal + 8 <= most {
      let difference = difference(a, start + equal, b, other + equal)
      // The first byte in memory is the lowest of the word.
      if difference != 0 { return equal + difference.littleEndian.trailingZeroBitCount / 8 }
      equal += 8
    }
    while equal < most, a[start + equal] == b[other + equal] { equal += 1 }
    return equal
  }

  @inline(__always)
  private static func difference(
    _ a: UnsafeRawBufferPointer, _ start: Int, _ b: UnsafeRawBufferPointer, _ other: Int
  ) -> UInt64 {
    a.loadUnaligned(fromByteOffset: start, as: UInt64.self)
      ^ b.loadUnaligned(fromByteOffset: other, as: UInt64.self)
  }

  /// Returns the number of successive bytes, in whole words, that all differ.
  @inline(__always)
  private static func different(
    _ a: UnsafeRawBufferPointer, from start: Int, and b: UnsafeRawBufferPointer, from other: Int,
    atMost most: Int
  ) -> Int {
    let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    var different = 0
    while different + 8 <= most {
      let word =
        a.loadUnaligned(fromByteOffset: start + different, as: UInt64.self)
        ^ b.loadUnaligned(fromByteOffset: other + different, as: UInt64.self)
      // True if no byte of the word is zero.
      guard (word &- ones) & ~word & highs == 0 else { break }
      different += 8
    }
    return different
  }

  private func continues(_ offset: Int) -> Bool {
    run == 0 && sequences.last?.offset == UInt32(offset)
  }

  private mutating func match(_ length: Int, offset: Int) {
    if continues(offset) {
      sequences[sequences.count - 1].matchLength += UInt32(length)
      return
    }
    sequences.append(
      ZSTD_Sequence(
        offset: UInt32(offset), litLength: UInt32(run), matchLength: UInt32(length), rep: 0))
    run = 0
  }

  private mutating func append(_ length: Int) {
    guard length > 0 else { return }
    literals += length
    run += length
    // Most literals are digests, and cannot be compressed.
    if literals > capacity { isTooLong = true }
  }
}
