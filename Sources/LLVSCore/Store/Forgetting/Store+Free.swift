internal import Platform

struct FreedSpace {
  var bytes: UInt64 = 0
  var lacksHoles = false
  var isCancelled = false
}

/// Rests between pieces of work.
private struct Rests {
  /// Shorter pieces of work are followed by one rest together.
  private static let shortest: UInt64 = 2_000_000
  private static let longest: UInt64 = 100_000_000

  let factor: UInt64
  private var start = SystemClock.monotonic()

  init(factor: UInt64) { self.factor = factor }

  mutating func rest() {
    let worked = SystemClock.monotonic() - start
    guard factor > 0, worked >= Self.shortest else { return }
    SystemClock.sleep(nanoseconds: min(Self.longest, worked * factor))
    start = SystemClock.monotonic()
  }
}

/// Destroys the bytes of records that are gone (S12): a segment in which they are many is rewritten (S15), in others
/// whole blocks of the disk become holes.
///
/// No place changes, and a hole that is made twice is the same hole. So a run that was interrupted is repeated as a
/// whole, and holes need no sync. On a disk with little room they come first, because rewriting a segment needs space.
extension Store {
  func free(_ control: ForgetControl = ForgetControl()) throws(StoreError) -> FreedSpace {
    var freed = FreedSpace()
    let segments = try catalog.read { (database) throws(StoreError) in
      try database.segmentsWithGone()
    }
    var all: [(segment: UInt32, gone: GoneRanges)] = []
    for segment in segments {
      if let gone = try records.gone?.ranges(in: segment) { all.append((segment, gone)) }
    }
    let total = all.reduce(0) { $0 + $1.gone.length }
    var done: UInt64 = 0
    var rests = Rests(factor: control.restFactor)
    for (segment, gone) in all {
      func goesOn(_ offset: UInt64) -> Bool {
        rests.rest()
        control.progress(.freeing, done + min(offset, gone.length), total)
        return !control.isCancelled()
      }
      do throws(StoreError) {
        freed.bytes += try records.rewriteIfFaster(segment, without: gone, goesOn)
        let more = try records.free(gone, in: segment, goesOn)
        if more.isCancelled { throw .cancelled }
        freed.lacksHoles = freed.lacksHoles || more.lacksHoles
        freed.bytes += more.bytes
        freed.bytes += try records.rewrite(segment, without: gone, goesOn)
      } catch {
        // Damage is reported by what reads the segment's other records.
        guard error.isDamage else { throw error }
      }
      done += gone.length
    }
    if freed.bytes > 0 { freed.lacksHoles = false }
    return freed
  }
}

extension Store {
  /// Returns the bytes of whole blocks that are gone and still on the disk, as an interrupted run leaves them; 0 on a
  /// file system that makes no holes.
  func unfreedBytes() throws(StoreError) -> UInt64 {
    let segments = try catalog.read { (database) throws(StoreError) in
      try database.segmentsWithGone()
    }
    var bytes: UInt64 = 0
    for segment in segments {
      guard let gone = try records.gone?.ranges(in: segment) else { continue }
      do throws(StoreError) {
        let held = try records.files.file(segment).held(of: gone)
        bytes += try StoreError.translating(try held.unfreed(in: records.files.path(segment)))
      } catch {
        guard error.isDamage else { throw error }
      }
    }
    return bytes
  }
}

extension RecordStore {
  fileprivate func free(
    _ gone: GoneRanges, in segment: UInt32, _ check: (UInt64) -> Bool
  ) throws(StoreError) -> FreedSpace {
    let held = try files.file(segment).held(of: gone)
    return try StoreError.translating(try held.free(in: files.path(segment), check))
  }
}

extension GoneRanges {
  /// Returns the bytes of the whole blocks of the ranges that are on the disk.
  fileprivate func unfreed(in path: String) throws(SystemError) -> UInt64 {
    let file = try File(path, [.readWrite, .noFollow, .nonBlocking])
    let status = try file.status()
    guard status.kind == .regular else { return 0 }
    let block = try file.fileSystem().blockSize
    var bytes: UInt64 = 0
    for range in ranges {
      let whole = range.clamped(to: 0..<status.size).wholeBlocks(of: block)
      var offset = whole.lowerBound
      do throws(SystemError) {
        while offset < whole.upperBound, let data = try file.nextData(from: offset),
          data < whole.upperBound
        {
          offset = min(try file.nextHole(from: data) ?? whole.upperBound, whole.upperBound)
          bytes += offset - data
        }
      } catch {
        // This file system does not report holes.
        guard error.errno == Errno.invalid else { throw error }
        return 0
      }
    }
    guard bytes > 0, try file.makesHoles(after: status.size, block) else { return 0 }
    return bytes
  }

  /// Makes the whole blocks of the ranges holes. `check` is called before each range with the bytes of those before,
  /// and returns false to end.
  func free(
    in path: String, _ check: (UInt64) -> Bool = { _ in true }
  ) throws(SystemError) -> FreedSpace {
    let file = try File(path, [.readWrite, .noFollow, .nonBlocking])
    let before = try file.status()
    var freed = FreedSpace()
    guard before.kind == .regular else { return freed }
    let block = try file.fileSystem().blockSize
    var done: UInt64 = 0
    for range in ranges {
      guard check(done) else {
        freed.isCancelled = true
        break
      }
      done += range.upperBound - range.lowerBound
      let whole = range.clamped(to: 0..<before.size).wholeBlocks(of: block)
      guard !whole.isEmpty, try file.hasData(in: whole) else { continue }
      do throws(SystemError) {
        try file.punchHole(whole)
      } catch {
        guard error.errno == Errno.notSupported else { throw error }
        freed.lacksHoles = true
        return freed
      }
    }
    freed.bytes = before.allocated - min(before.allocated, try file.status().allocated)
    return freed
  }
}

extension File {
  /// True if the file system makes holes; tried behind the end of the file, where nothing is.
  fileprivate func makesHoles(after size: UInt64, _ block: UInt64) throws(SystemError) -> Bool {
    let start = (size + block - 1) / block * block
    do throws(SystemError) {
      try punchHole(start..<(start + block))
      return true
    } catch {
      guard error.errno == Errno.notSupported else { throw error }
      return false
    }
  }

  fileprivate func hasData(in range: Range<UInt64>) throws(SystemError) -> Bool {
    do throws(SystemError) {
      return try nextData(from: range.lowerBound).map { $0 < range.upperBound } ?? false
    } catch {
      // This file system does not report holes.
      guard error.errno == Errno.invalid else { throw error }
      return true
    }
  }
}
