/// A zstd frame (RFC 8878) that tells a node of a map by another, its base.
///
/// What both have in common is known without a search: items of one key, and in them all but a few bytes.
/// So a frame is made in a fraction of the time that zstd takes to find it
/// out, which has to look at every byte of the base first. zstd unpacks it with the base before it, as it
/// does its own.
///
/// Neither node is trusted to be one: whatever the bytes are, the frame gives back the same.
struct DeltaFrame {
  private struct Sequence {
    var literals: Int
    var length: Int
    var offset: Int
  }

  /// A block has no more; longer nodes are left to zstd.
  private static let longest = 65_536
  /// A shorter match takes as many bytes as it saves.
  private static let shortestMatch = 6

  private let base: UnsafeRawBufferPointer
  private let bytes: UnsafeRawBufferPointer
  private var sequences: [Sequence] = []
  private var literals: [UInt8] = []
  /// Literals since the last match.
  private var run = 0
  private var isTooLong = false
  private let capacity: Int

  private init(
    _ bytes: UnsafeRawBufferPointer, from base: UnsafeRawBufferPointer, capacity: Int
  ) {
    self.bytes = bytes
    self.base = base
    self.capacity = capacity
  }

  /// `head`, then a frame of at most `capacity` bytes; nil where it would be longer, or where one of the
  /// two is too long or no node.
  static func make(
    _ bytes: UnsafeRawBufferPointer, from base: UnsafeRawBufferPointer, capacity: Int,
    after head: [UInt8]
  ) -> [UInt8]? {
    guard bytes.count <= longest, base.count <= longest, bytes.count > MapNode.headerLength,
      base.count > MapNode.headerLength, bytes[1] == base[1]
    else { return nil }
    var frame = DeltaFrame(bytes, from: base, capacity: capacity)
    guard frame.compareItems(level: Int(bytes[1])) else { return nil }
    return frame.encoded(after: head)
  }

  // MARK: Comparing

  /// Walks the items of both in the order of their keys; false where either is no node.
  private mutating func compareItems(level: Int) -> Bool {
    if bytes.part(0, MapNode.headerLength).compare(to: base.part(0, MapNode.headerLength)) == 0 {
      match(MapNode.headerLength, offset: base.count)
    } else {
      append(0, MapNode.headerLength)
    }
    var (position, other) = (MapNode.headerLength, MapNode.headerLength)
    var previous: (start: Int, length: Int)?
    while position < bytes.count {
      guard let length = DeltaFrame.length(of: bytes, at: position), !isTooLong else {
        return false
      }
      var isDone = false
      while other < base.count, !isDone {
        guard let otherLength = DeltaFrame.length(of: base, at: other) else { return false }
        if length == otherLength,
          bytes.part(position, length).compare(to: base.part(other, length)) == 0
        {
          match(length, offset: base.count + position - other)
          other += otherLength
          isDone = true
          continue
        }
        guard
          let order = DeltaFrame.order(bytes, position, length, base, other, otherLength, level)
        else { return false }
        if order < 0 { break }
        if order == 0 {
          compare(position, length, in: base, at: other, otherLength)
          isDone = true
        }
        other += otherLength
      }
      if !isDone {
        // A new item has most in common with its neighbour.
        if let previous {
          compare(position, length, in: bytes, at: previous.start, previous.length)
        } else {
          append(position, length)
        }
      }
      previous = (position, length)
      position += length
    }
    return true
  }

  /// The length of the item at a position; nil where there is none.
  private static func length(of bytes: UnsafeRawBufferPointer, at start: Int) -> Int? {
    guard bytes.count - start >= 16 else { return nil }
    let length = Int(bytes.bigEndian(UInt32.self, at: start))
    return length >= 16 && length <= bytes.count - start ? length : nil
  }

  /// The order of two items' keys; nil where an item has none.
  private static func order(
    _ a: UnsafeRawBufferPointer, _ start: Int, _ length: Int, _ b: UnsafeRawBufferPointer,
    _ otherStart: Int, _ otherLength: Int, _ level: Int
  ) -> Int? {
    let field = level == 0 ? 9 : 4
    let count = Int(a.bigEndian(UInt32.self, at: start + field))
    let otherCount = Int(b.bigEndian(UInt32.self, at: otherStart + field))
    guard count <= length - field - 4, otherCount <= otherLength - field - 4 else { return nil }
    return a.part(start + field + 4, count)
      .compare(to: b.part(otherStart + field + 4, otherCount))
  }

  /// Tells a part of the node by a part of the base, or of the node before it: what is equal from the
  /// front, and where they are of different lengths, from the back.
  private mutating func compare(
    _ start: Int, _ length: Int, in source: UnsafeRawBufferPointer, at other: Int,
    _ otherLength: Int
  ) {
    // Where the source's bytes stand as offsets count them: the node follows the base.
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
    var (index, told) = (0, 0)
    while index < end {
      var equal = 0
      while index + equal < end, bytes[start + index + equal] == source[other + index + equal] {
        equal += 1
      }
      if equal >= DeltaFrame.shortestMatch || equal > 0 && told == index && continues(offset) {
        append(start + told, index - told)
        match(equal, offset: offset)
        told = index + equal
      }
      // And past the byte that differs.
      index += equal + 1
    }
    append(start + told, length - tail - told)
    guard tail > 0 else { return }
    guard tail >= DeltaFrame.shortestMatch else { return append(start + length - tail, tail) }
    match(tail, offset: base.count + start + length - shift - other - otherLength)
  }

  /// Whether a match at an offset makes the one before it longer.
  private func continues(_ offset: Int) -> Bool { run == 0 && sequences.last?.offset == offset }

  private mutating func match(_ length: Int, offset: Int) {
    if continues(offset) {
      sequences[sequences.count - 1].length += length
      return
    }
    sequences.append(Sequence(literals: run, length: length, offset: offset))
    run = 0
  }

  private mutating func append(_ start: Int, _ length: Int) {
    guard length > 0 else { return }
    literals.append(contentsOf: bytes.part(start, length))
    run += length
    if literals.count > capacity { isTooLong = true }
  }

  // MARK: The frame

  private func encoded(after head: [UInt8]) -> [UInt8]? {
    guard !sequences.isEmpty, sequences.count < 0x7F00, literals.count <= capacity else {
      return nil
    }
    var out = head
    out.reserveCapacity(head.count + literals.count + sequences.count * 8 + 32)
    // The magic number; a single segment with the size of the content, no checksum, no dictionary's id.
    out += [0x28, 0xB5, 0x2F, 0xFD]
    switch bytes.count {
    case ..<256: out += [0x20, UInt8(bytes.count)]
    case ..<65_792:
      out.append(0x60)
      out.append(littleEndian: bytes.count - 256, 2)
    default:
      out.append(0xA0)
      out.append(littleEndian: bytes.count, 4)
    }
    let block = out.count
    out += [0, 0, 0]
    // Literals as they are.
    switch literals.count {
    case ..<32: out.append(UInt8(literals.count << 3))
    case ..<4096: out.append(littleEndian: literals.count << 4 | 1 << 2, 2)
    default: out.append(littleEndian: literals.count << 4 | 3 << 2, 3)
    }
    out += literals
    if sequences.count < 128 {
      out.append(UInt8(sequences.count))
    } else {
      out += [UInt8(sequences.count >> 8 + 128), UInt8(sequences.count & 255)]
    }
    // All three codes by their predefined distributions.
    out.append(0)
    out += sequenceBits()
    let size = out.count - block - 3
    guard out.count - head.count <= capacity, size < bytes.count else { return nil }
    // The last block, of the kind that is compressed.
    let header = size << 3 | 2 << 1 | 1
    for index in 0..<3 { out[block + index] = UInt8(truncatingIfNeeded: header >> (8 * index)) }
    return out
  }

  /// What stands for an offset: 1 to 3 for one of the last three (RFC 8878, 3.1.1.5).
  private func offsetCodes() -> [LengthCode] {
    var recent = (1, 4, 8)
    var codes: [LengthCode] = []
    codes.reserveCapacity(sequences.count)
    for sequence in sequences {
      let offset = sequence.offset
      var value = offset + 3
      // Without literals before it the first of them means the second, as matches of one place are one.
      let shift = sequence.literals == 0 ? 1 : 0
      if offset == recent.0, shift == 0 {
        value = 1
      } else if offset == recent.1 {
        value = 2 - shift
        recent = (offset, recent.0, recent.2)
      } else if offset == recent.2 {
        value = 3 - shift
        recent = (offset, recent.0, recent.1)
      } else {
        recent = (offset, recent.0, recent.1)
      }
      codes.append(LengthCode(offset: value))
    }
    return codes
  }

  private func sequenceBits() -> [UInt8] {
    let (lengths, matches, places) = (
      SequenceTable.literalLengths, SequenceTable.matchLengths, SequenceTable.offsets
    )
    let offsets = offsetCodes()
    var out = BackwardBits()
    var states = (0, 0, 0)
    for index in sequences.indices.reversed() {
      let literal = LengthCode(literals: sequences[index].literals)
      let match = LengthCode(match: sequences[index].length)
      let offset = offsets[index]
      if index == sequences.count - 1 {
        states = (
          lengths.last(literal.symbol), places.last(offset.symbol), matches.last(match.symbol)
        )
      } else {
        places.step(offset.symbol, before: &states.1, into: &out)
        matches.step(match.symbol, before: &states.2, into: &out)
        lengths.step(literal.symbol, before: &states.0, into: &out)
      }
      out.append(literal.extra, literal.bits)
      out.append(match.extra, match.bits)
      out.append(offset.extra, offset.bits)
    }
    out.append(UInt64(states.2), matches.accuracy)
    out.append(UInt64(states.1), places.accuracy)
    out.append(UInt64(states.0), lengths.accuracy)
    out.finish()
    return out.bytes
  }
}

extension [UInt8] {
  fileprivate mutating func append(littleEndian value: Int, _ count: Int) {
    for index in 0..<count { append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
  }
}
