import Inodes
import LLVSCore
import Platform
import TreeNames

// Giving the disk back, when it is full, what nothing refers to any more in data files that others still
// need: without that, removing a large file would make room for nothing until all that was written beside it
// is in a version.

extension LiveTree {
  /// Opens a store's live tree again where a full disk kept it from opening: gives up what was put aside.
  package static func giveUpReserve(of store: String) -> Bool {
    Journal.giveUpReserve(in: store + "/journal")
  }

  /// Gives the disk back whatever a store's journal holds besides records, before it is opened.
  ///
  /// The caller holds the store's lock.
  package static func giveUpRoom(of store: String) {
    Journal.giveUpRoom(in: store + "/journal")
  }

  /// Runs what needs room on the disk, and once more if it was full and something could be given back.
  func withRoom<R>(_ body: () throws(FSError) -> R) throws(FSError) -> R {
    do throws(FSError) {
      return try body()
    } catch {
      guard error.isNoSpace, reclaim() || renewFullJournal() else { throw error }
    }
    do throws(FSError) {
      return try body()
    } catch {
      guard error.isNoSpace, renewFullJournal() else { throw error }
      return try body()
    }
  }

  /// Begins the journal anew on a full disk, where more of it is dead than that takes.
  private func renewFullJournal() -> Bool { renewJournal(toFree: 512 << 10) }

  /// Punches holes where data files hold bytes that nothing refers to; false if there are none.
  ///
  /// What removed them is on the disk before they go: after a power failure, too, nothing that is shown
  /// refers to them.
  ///
  /// - Complexity: O(pending), unless nothing has changed since the last time.
  package func reclaim() -> Bool {
    let found = lock.withLock { _ -> [UInt32: [Range<UInt64>]] in
      // A plan refers to saves that files may have gone beyond since.
      guard !isPlanning, stamp != reclaimedAt else { return [:] }
      reclaimedAt = stamp
      return journal.unreferenced(besides: referencedRanges())
    }
    guard !found.isEmpty else { return false }
    do throws(FSError) {
      try journal.sync()
    } catch {
      return false
    }
    return journal.punch(found)
  }

  /// The ranges of data files that pending files refer to, by file, in ascending order; call with the lock
  /// held.
  func referencedRanges() -> [UInt32: [Range<UInt64>]] {
    var ranges: [UInt32: [Range<UInt64>]] = [:]
    func note(_ content: FileContent?) {
      content?.extents.forEach { extent in
        guard extent.source != Extent.base else { return }
        ranges[extent.source, default: []].append(extent.offset..<(extent.offset + extent.length))
      }
    }
    func note(_ file: LiveFile?) {
      note(file?.content)
      note(file?.saved?.content)
      note(file?.counted?.content)
    }
    for node in nodes.values { note(node.file) }
    for detached in detachedNodes.values { note(detached.node.file) }
    for source in ranges.keys { ranges[source]?.sort { $0.lowerBound < $1.lowerBound } }
    return ranges
  }
}

extension Journal {
  /// What stands in staging files, and in generations that another has followed, besides some ranges, of
  /// which nobody is about to record anything.
  func unreferenced(besides ranges: [UInt32: [Range<UInt64>]]) -> [UInt32: [Range<UInt64>]] {
    state.withLock { s in
      var found: [UInt32: [Range<UInt64>]] = [:]
      for (source, sums) in s.sums where s.unrecorded[source] == nil {
        guard let file = s.files[source],
          file.path.hasSuffix(".stage") || (source < s.generation && s.unbegun == nil)
        else { continue }
        guard file.path.hasSuffix(".stage") else {
          // Nobody reads its records again, either, and they stand between the bytes.
          // A payload is read whole, to check it.
          let known = sums.overlapping(anyOf: ranges[source] ?? []).payloads.map {
            $0.offset..<$0.end
          }
          let kept = ((ranges[source] ?? []) + known).sorted { $0.lowerBound < $1.lowerBound }
          let gaps = Self.gapsToPunch(in: file, besides: kept)
          if !gaps.isEmpty { found[source] = gaps }
          continue
        }
        let dead = sums.payloads(outside: ranges[source] ?? [])
        var free: [Range<UInt64>] = []
        for payload in dead {
          if let last = free.last, last.upperBound == payload.offset {
            free[free.count - 1] = last.lowerBound..<payload.end
          } else {
            free.append(payload.offset..<payload.end)
          }
        }
        if !free.isEmpty { found[source] = free }
      }
      return found
    }
  }

  /// What some ranges leave of a generation's file, if blocks are allotted there; nothing where it has its
  /// holes already.
  private static func gapsToPunch(
    in file: File, besides ranges: [Range<UInt64>]
  ) -> [Range<UInt64>] {
    // One that cannot be looked at keeps what it has.
    guard let status = try? file.status() else { return [] }
    let gaps = gaps(of: ranges, to: status.size)
    let block: UInt64 = 4096
    let whole = gaps.reduce(UInt64(0)) { sum, gap in
      let (from, to) = ((gap.lowerBound + block - 1) / block, gap.upperBound / block)
      return sum + (to > from ? (to - from) * block : 0)
    }
    return status.allocated > status.size - whole + block ? gaps : []
  }

  /// What a file's first bytes, which tell what it is, and some ranges in ascending order leave of it.
  private static func gaps(of ranges: [Range<UInt64>], to end: UInt64) -> [Range<UInt64>] {
    var gaps: [Range<UInt64>] = []
    var at: UInt64 = 4096
    for range in ranges {
      if range.lowerBound > at { gaps.append(at..<range.lowerBound) }
      at = max(at, range.upperBound)
    }
    if end > at { gaps.append(at..<end) }
    // Records between two ranges that stay are shorter than a block.
    return gaps.filter { $0.upperBound - $0.lowerBound >= 1024 }
  }

  /// Makes holes of ranges of data files; false if none could be made.
  func punch(_ ranges: [UInt32: [Range<UInt64>]]) -> Bool {
    var done = false
    for (source, ranges) in ranges {
      // Whoever still reads the bytes finds that they are gone, and looks again where they are now.
      let file = state.withLock { s -> File? in
        s.sums[source]?.remove(in: ranges)
        return s.files[source]
      }
      for range in ranges {
        do throws(SystemError) {
          try file?.punchHole(range)
          done = done || file != nil
        } catch {
          // The bytes go with the file, then.
          continue
        }
      }
    }
    return done
  }
}
