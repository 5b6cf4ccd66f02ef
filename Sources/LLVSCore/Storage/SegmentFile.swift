internal import Platform

/// An open segment.
struct SegmentFile: Sendable {
  let file: File
  /// Nil if the offset of each record in the file is that of its location.
  let runs: SegmentRuns?

  /// Returns the offset of a record in the file; nil if the file is without the record.
  func offset(of location: Location) throws(StoreError) -> UInt64? {
    guard let runs else { return location.offset }
    let (end, overflow) = location.offset.addingReportingOverflow(UInt64(location.length))
    guard !overflow, let run = try runs.run(from: location.offset, in: file),
      run.range.contains(location.offset), end <= run.range.upperBound
    else { return nil }
    return run.place + (location.offset - run.range.lowerBound)
  }

  /// The parts of the segment that the file has, by the offsets of locations, ascending.
  func parts() throws(StoreError) -> [SegmentRuns.Run] {
    if let runs { return try runs.all(in: file) }
    let size = try StoreError.translating(try file.status()).size
    let begin = UInt64(SegmentFormat.headerSize)
    return size > begin ? [SegmentRuns.Run(range: begin..<size, place: begin)] : []
  }

  /// Returns the parts that the file has, without some ranges.
  func parts(without gone: GoneRanges) throws(StoreError) -> [SegmentRuns.Run] {
    var left: [SegmentRuns.Run] = []
    for part in try parts() {
      var start = part.range.lowerBound
      func add(until end: UInt64) {
        guard start < end else { return }
        left.append(
          SegmentRuns.Run(
            range: start..<end, place: part.place + (start - part.range.lowerBound)))
      }
      while start < part.range.upperBound, let next = gone.next(from: start),
        next.lowerBound < part.range.upperBound
      {
        add(until: next.lowerBound)
        start = max(start, next.upperBound)
      }
      add(until: part.range.upperBound)
    }
    return left
  }

  /// Returns the parts of some ranges that the file has, by their offsets in the file.
  func held(of gone: GoneRanges) throws(StoreError) -> GoneRanges {
    guard runs != nil else { return gone }
    var held: [Range<UInt64>] = []
    for part in try parts() {
      var start = part.range.lowerBound
      while start < part.range.upperBound, let next = gone.next(from: start),
        next.lowerBound < part.range.upperBound
      {
        let found = next.clamped(to: part.range)
        let place = part.place + (found.lowerBound - part.range.lowerBound)
        held.append(place..<(place + (found.upperBound - found.lowerBound)))
        start = next.upperBound
      }
    }
    var ranges = GoneRanges()
    ranges.formUnion(held)
    return ranges
  }
}
