import Platform

/// One payload of a data file: bytes that were written at once, and their checksum.
struct Payload: Hashable, Sendable {
  /// The longest that a record may speak of; the longest that is written is ``blockSize``.
  static let limit: UInt32 = 16 << 20
  /// A longer write is recorded in payloads of this length, so that whoever reads a little of it has
  /// little to check.
  static let blockSize = 64 << 10

  /// The first byte's offset in the data file.
  var offset: UInt64
  /// XXH3-64 of the bytes.
  var checksum: UInt64
  var length: UInt32

  /// The first offset behind it.
  var end: UInt64 { offset + UInt64(length) }
}

/// The checksums of what stands in one data file, in ascending order, none overlapping.
///
/// - Complexity: 24 bytes a payload; O(1) to add at the end, O(log *n*) to look up.
struct PayloadSums: Sendable {
  private(set) var payloads: ContiguousArray<Payload> = []

  /// Adds a payload; one that overlaps others is none that a journal writes, and is left out.
  mutating func add(_ payload: Payload) {
    guard payload.length > 0 else { return }
    guard let last = payloads.last, last.end > payload.offset else {
      payloads.append(payload)
      return
    }
    // Two threads record what they staged in either order.
    let index = firstIndex(endingAfter: payload.offset)
    if index < payloads.count, payloads[index].offset < payload.end {
      if payloads[index].offset == payload.offset, payloads[index].length == payload.length {
        payloads[index] = payload
      }
      return
    }
    payloads.insert(payload, at: index)
  }

  /// The payloads that have bytes in a range.
  func overlapping(_ range: Range<UInt64>) -> ArraySlice<Payload> {
    var index = firstIndex(endingAfter: range.lowerBound)
    var found: [Payload] = []
    while index < payloads.count, payloads[index].offset < range.upperBound {
      found.append(payloads[index])
      index += 1
    }
    return found[...]
  }

  /// The payloads that have bytes in any of some ranges, which are in ascending order.
  func overlapping(anyOf ranges: [Range<UInt64>]) -> PayloadSums {
    var kept = PayloadSums()
    var next = 0
    for payload in payloads {
      while next < ranges.count, ranges[next].upperBound <= payload.offset { next += 1 }
      guard next < ranges.count else { break }
      if ranges[next].lowerBound < payload.end { kept.payloads.append(payload) }
    }
    return kept
  }

  /// The payloads that have no byte in any of some ranges, which are in ascending order.
  func payloads(outside ranges: [Range<UInt64>]) -> ContiguousArray<Payload> {
    let kept = overlapping(anyOf: ranges).payloads
    var next = 0
    return payloads.filter { payload in
      guard next < kept.count, kept[next].offset == payload.offset else { return true }
      next += 1
      return false
    }
  }

  /// Forgets the payloads that lie in any of some ranges, which are in ascending order.
  mutating func remove(in ranges: [Range<UInt64>]) {
    payloads = payloads(outside: ranges)
  }

  private func firstIndex(endingAfter offset: UInt64) -> Int {
    payloads.partitioningIndex { $0.end > offset }
  }
}
