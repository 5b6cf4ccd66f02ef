internal import Platform

// Finds the bit of a frame that has flipped.
//
// A frame is: page number(u32) size of the database at the end of a transaction(u32, else 0)
// salts(8) checksum(8) page. The checksum covers the first eight bytes and the page.

extension CatalogLog {
  struct FrameRepair {
    var place: Int
    var byte: UInt8
    /// True if no other byte is possible, or if the choice makes no difference.
    var isCertain = true
  }

  /// Returns the byte that makes a frame whole; nil if more than one bit is wrong.
  func repair(of frame: [UInt8], at: UInt64, sum: LogSum) throws(SystemError) -> FrameRepair? {
    let stored = LogSum(frame, at: 16)
    let wrong = (8..<16).filter { frame[$0] != salts[salts.startIndex + $0 - 8] }
    if let place = wrong.first {
      let right = salts[salts.startIndex + place - 8]
      guard wrong.count == 1, sum == stored, (frame[place] ^ right).nonzeroBitCount == 1 else {
        return nil
      }
      return FrameRepair(place: place, byte: right)
    }
    let summed = Array(frame[..<8]) + frame[CatalogLog.frameHeaderSize...]
    let found = LogSum.repairs(of: summed, from: seed, to: stored, isBigEndian: isBigEndian)
    if let bit = sum.flippedBit(to: stored) {
      let place = 16 + bit / 8
      let repair = FrameRepair(place: place, byte: frame[place] ^ 1 << UInt8(bit % 8))
      // The checksum of the next frame continues from the right value of this one.
      let next = try file.read(frameSize, at: at + UInt64(frameSize))
      guard next.count == frameSize, next[8..<16] == salts else {
        // In the last frame the page stays unchanged.
        return FrameRepair(place: place, byte: repair.byte, isCertain: found.isEmpty)
      }
      let goal = LogSum(next, at: 16)
      if self.sum(of: next, from: sum) == goal { return repair }
      if self.sum(of: next, from: stored) != goal, found.isEmpty { return repair }
    }
    let places = found.map { found in
      FrameRepair(
        place: found.place < 8 ? found.place : found.place + CatalogLog.frameHeaderSize - 8,
        byte: found.byte)
    }
    return places.count < 2 ? places.first : try likeliest(of: places, frame, at: at)
  }

  /// Returns the repair that makes a page most similar to its states before and after the frame.
  private func likeliest(
    of repairs: [FrameRepair], _ frame: [UInt8], at: UInt64
  ) throws(SystemError) -> FrameRepair? {
    let number = frame.word(0, isBigEndian: true)
    let own = try neighbours(of: number, at: at)
    let likeness = own.pages.map { Self.likeness(frame, $0) }.max() ?? 0
    for repair in repairs where repair.place < 4 {
      var mended = frame
      mended[repair.place] = repair.byte
      let other = try neighbours(of: mended.word(0, isBigEndian: true), at: at)
      let theirs = other.pages.map { Self.likeness(frame, $0) }.max() ?? 0
      // A page differs little from its state one transaction before, and much from other pages.
      if theirs > likeness, theirs > frameSize * 3 / 4 { return repair }
    }
    let size = frame.word(4, isBigEndian: true)
    for repair in repairs where (4..<8).contains(repair.place) {
      var mended = frame
      mended[repair.place] = repair.byte
      let other = mended.word(4, isBigEndian: true)
      // Databases grow by a few pages at a time.
      if try !isLikely(size, at: at), try isLikely(other, at: at) { return repair }
    }
    var best: (repair: FrameRepair, score: Int, isAlone: Bool)?
    for repair in repairs where repair.place >= CatalogLog.frameHeaderSize {
      var score = 0
      let place = repair.place - CatalogLog.frameHeaderSize
      for page in own.pages where place < page.count {
        if page[place] == repair.byte { score += 1 }
        if page[place] == frame[repair.place] { score -= 1 }
      }
      if score > best?.score ?? .min {
        best = (repair, score, true)
      } else if score == best?.score {
        best?.isAlone = false
      }
    }
    guard var chosen = best?.repair else { return repairs.first }
    chosen.isCertain = own.isReplaced || (best?.isAlone == true && (best?.score ?? 0) > 0)
    return chosen
  }

  private static func likeness(_ frame: [UInt8], _ page: [UInt8]) -> Int {
    guard page.count == frame.count - frameHeaderSize else { return 0 }
    var count = 0
    for index in page.indices where page[index] == frame[index + frameHeaderSize] { count += 1 }
    return count
  }

  /// Returns the state of a page before an offset in the log, and its next state behind it, if any.
  private func neighbours(
    of number: UInt32, at: UInt64
  ) throws(SystemError) -> (pages: [[UInt8]], isReplaced: Bool) {
    let pageSize = frameSize - CatalogLog.frameHeaderSize
    guard number > 0 else { return ([], false) }
    var (before, after): (UInt64?, UInt64?) = (nil, nil)
    var place = UInt64(CatalogLog.headerSize)
    while after == nil {
      let header = try file.read(CatalogLog.frameHeaderSize, at: place)
      guard header.count == CatalogLog.frameHeaderSize else { break }
      if place != at, header[8..<16] == salts, header.word(0, isBigEndian: true) == number {
        if place < at { before = place } else { after = place }
      }
      place += UInt64(frameSize)
    }
    var pages: [[UInt8]] = []
    if let before {
      pages.append(try file.read(pageSize, at: before + UInt64(CatalogLog.frameHeaderSize)))
    } else {
      let database = try File.regular(String(path.dropLast("-wal".count)), .read)
      pages.append(try database.read(pageSize, at: UInt64(number - 1) * UInt64(pageSize)))
    }
    if let after {
      pages.append(try file.read(pageSize, at: after + UInt64(CatalogLog.frameHeaderSize)))
    }
    return (pages.filter { $0.count == pageSize }, after != nil)
  }

  /// Returns true if a transaction may have ended with a database of `size` pages.
  private func isLikely(_ size: UInt32, at: UInt64) throws(SystemError) -> Bool {
    guard size > 0 else { return true }
    var place = at
    while place >= UInt64(CatalogLog.headerSize + frameSize) {
      place -= UInt64(frameSize)
      let header = try file.read(8, at: place)
      guard header.count == 8 else { return false }
      let last = header.word(4, isBigEndian: true)
      if last > 0 { return size >= last && size - last < 64 }
    }
    return true
  }
}
