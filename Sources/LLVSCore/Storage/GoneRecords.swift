internal import Platform
internal import Synchronization

/// The places of records that were forgotten.
///
/// INVARIANT S12: a range is gone, durably, before any of its bytes is destroyed (`Store+Free.swift`). A crash between
/// the two leaves bytes that are freed later.
///
/// INVARIANT S13: nothing that is written rests on a record that is gone: the look-up of equal bytes, the bases of
/// patches and repairs pass over it. So a range stays gone as long as its segment exists.
///
/// INVARIANT S14: a record is called forgotten only if its place is gone, and damaged only if a catalog that was read
/// after the attempt says that its place is not.
/// - Concurrency: any thread; the lock is a leaf.
final class GoneRecords: Sendable {
  private enum Known {
    case ranges(GoneRanges)
    case unknown
  }

  private let catalog: Catalog
  /// Only a writer may keep what it read, because no other process writes then.
  private let isWriter: Bool
  private let known = Mutex<[UInt32: Known]>([:])

  /// What a reader of many values found lately.
  private struct Recent {
    var since: UInt64 = 0
    var known: [UInt32: Known] = [:]
  }

  /// In nanoseconds.
  private static let recency: UInt64 = 1_000_000_000
  private let recent = Mutex(Recent())

  init(catalog: Catalog, mode: AccessMode) {
    self.catalog = catalog
    isWriter = mode == .writer
  }

  /// Returns true if a record was forgotten.
  func contains(_ place: Location) throws(StoreError) -> Bool {
    guard case .ranges(let ranges) = try known(place.segment) else { return false }
    return ranges.contains(place.offset)
  }

  /// Returns true if a record may be used for something that is written now.
  func mayUse(_ place: Location) -> Bool {
    guard case .ranges(let ranges)? = try? known(place.segment) else { return false }
    return !ranges.contains(place.offset)
  }

  /// Returns true if a record was forgotten, as ``contains(_:)`` does; a reader may learn of it a second late.
  func containsLately(_ place: Location) throws(StoreError) -> Bool {
    let now = SystemClock.monotonic()
    let lately =
      isWriter
      ? nil
      : recent.withLock { recent in
        if now - recent.since > Self.recency { recent = Recent(since: now) }
        return recent.known[place.segment]
      }
    let found: Known
    if let lately {
      found = lately
    } else {
      found = try known(place.segment)
      if !isWriter { recent.withLock { $0.known[place.segment] = found } }
    }
    guard case .ranges(let ranges) = found else { return false }
    return ranges.contains(place.offset)
  }

  /// Returns what is gone of a segment; nil if that is unknown.
  func ranges(in segment: UInt32) throws(StoreError) -> GoneRanges? {
    if case .ranges(let ranges) = try known(segment) { ranges } else { nil }
  }

  /// Adds ranges that were committed.
  func note(_ gone: [UInt32: GoneRanges]) {
    known.withLock { known in
      for (segment, ranges) in gone { known[segment] = .ranges(ranges) }
    }
  }

  private func known(_ segment: UInt32) throws(StoreError) -> Known {
    if isWriter, let found = known.withLock({ $0[segment] }) { return found }
    let read = try catalog.read { (database) throws(StoreError) -> Known in
      do throws(StoreError) {
        return .ranges(try database.gone(in: segment))
      } catch {
        guard case .corrupt = error else { throw error }
        return .unknown
      }
    }
    guard isWriter else { return read }
    return known.withLock { known in
      // A decision may have been noted since the catalog was read.
      if let newer = known[segment] { return newer }
      known[segment] = read
      return read
    }
  }
}
