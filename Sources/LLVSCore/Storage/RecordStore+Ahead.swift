internal import Platform

/// Reads several neighbouring records with one call. Successive versions are adjacent in a segment, so the records
/// of a hundred of them are a short range; reading each record separately costs more than checking it.
extension RecordStore {
  /// The longest gap between two records, in bytes, that is read too.
  private static let gap: UInt64 = 8 << 10
  /// The greatest length of a range, in bytes.
  private static let stretch: UInt64 = 256 << 10
  /// Fewer records are read equally fast one by one.
  private static let fewest = 4

  /// Calls the body with the raw bytes of those records of a kind that are near each other. It omits the others,
  /// and unreadable or damaged ones: ``read(_:at:)`` reports those.
  func readAhead(_ kind: RecordKind, at places: [Location], _ body: (Location, [UInt8]) -> Void) {
    guard places.count >= RecordStore.fewest else { return }
    let sorted = places.filter(isReadable).sorted {
      ($0.segment, $0.offset) < ($1.segment, $1.offset)
    }
    var from = 0
    while from < sorted.count {
      let first = sorted[from]
      var end = first.offset + UInt64(first.length)
      var to = from + 1
      while to < sorted.count {
        let next = sorted[to]
        let nextEnd = max(end, next.offset + UInt64(next.length))
        guard next.segment == first.segment, next.offset <= end + RecordStore.gap,
          nextEnd - first.offset <= RecordStore.stretch
        else { break }
        end = nextEnd
        to += 1
      }
      if to - from >= RecordStore.fewest {
        read(kind, sorted[from..<to], body)
      }
      from = to
    }
  }

  /// True if a record may be in its file: it was written and is not too long.
  private func isReadable(_ place: Location) -> Bool {
    let (end, overflow) = place.offset.addingReportingOverflow(UInt64(place.length))
    return place.segment > 0 && !overflow && end <= UInt64(Int64.max)
      && Int(place.length) >= SegmentFormat.recordHeaderSize
      && UInt64(place.length) <= RecordStore.stretch && isWritten(place)
  }

  private func read(
    _ kind: RecordKind, _ places: ArraySlice<Location>, _ body: (Location, [UInt8]) -> Void
  ) {
    guard let segment = places.first?.segment, let opened = try? files.file(segment) else { return }
    var found: [(place: Location, offset: UInt64)] = []
    var end: UInt64 = 0
    for place in places {
      guard let offset = (try? opened.offset(of: place)) ?? nil else { continue }
      found.append((place, offset))
      end = max(end, offset + UInt64(place.length))
    }
    // A rewritten file has the records in the same order, and nearer to each other.
    guard let begin = found.first?.offset,
      let bytes = try? opened.file.read(Int(end - begin), at: begin)
    else { return }
    bytes.withUnsafeBytes { raw in
      for (place, offset) in found {
        let start = Int(offset - begin)
        guard start + Int(place.length) <= raw.count else { return }
        let record = raw.part(start, Int(place.length))
        let size = SegmentFormat.recordHeaderSize
        let payload = record.part(size, record.count - size)
        guard let header = try? check(place, record, payload), header.kind == kind,
          !header.isDelta, let bytes = try? unpacked(header, Array(payload), at: place)
        else { continue }
        body(place, bytes)
      }
    }
  }
}
