import Inodes
import LLVSCore
import Platform
import TreeNames

// INVARIANT J6: bytes in a data file are compared with the checksum that their record bears whenever
//   anybody reads them, be it a program or a version in the making; a checkpoint keeps the checksums of
//   all that it refers to.

extension Journal {
  /// Notes what a record that was read back says of bytes in a data file.
  func noteSum(of extent: Extent, _ checksum: UInt64) {
    guard extent.source != Extent.base, extent.length <= UInt64(Payload.limit) else { return }
    noteSums(
      [Payload(offset: extent.offset, checksum: checksum, length: UInt32(extent.length))],
      in: extent.source)
  }

  /// Notes what a checkpoint says of bytes in a data file.
  func noteSums(_ payloads: [Payload], in source: UInt32) {
    state.withLock { s in
      for payload in payloads { s.sums[source, default: PayloadSums()].add(payload) }
    }
  }

  /// Reads all bytes of a range of a data file into a buffer, each compared with its checksum.
  ///
  /// - Throws: ``FSError/stale`` where the file is gone or nothing that is pending has the bytes any more,
  ///   ``FSError/store(_:)`` with
  ///   ``StoreError/corrupt(_:)`` where bytes are missing or are not what was written,
  ///   ``FSError/system(_:)``.
  /// - Complexity: O(bytes asked + two payloads).
  func read(
    _ source: UInt32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(FSError) {
    let end = offset + UInt64(buffer.count)
    let (found, payloads) = state.withLock { s in
      (s.files[source], s.sums[source]?.overlapping(offset..<end) ?? [])
    }
    guard let file = found, Self.covers(payloads, offset..<end) else { throw .stale }
    let isInsideOne =
      payloads.first.map { $0.offset <= offset && $0.end >= end && $0.length > buffer.count }
      ?? false
    if !isInsideOne { try fill(buffer, from: file, at: offset) }
    for payload in payloads {
      if payload.offset >= offset, payload.end <= end {
        let from = Int(payload.offset - offset)
        try check(
          UnsafeRawBufferPointer(
            rebasing: buffer[from..<(from + Int(payload.length))]), payload, file)
        continue
      }
      var failure: FSError?
      withUnsafeTemporaryAllocation(byteCount: Int(payload.length), alignment: 16) { whole in
        do throws(FSError) {
          try fill(whole, from: file, at: payload.offset)
          try check(UnsafeRawBufferPointer(whole), payload, file)
        } catch {
          failure = error
          return
        }
        let low = max(payload.offset, offset)
        let high = min(payload.end, end)
        let part = whole[Int(low - payload.offset)..<Int(high - payload.offset)]
        // What was checked is what is given out.
        UnsafeMutableRawBufferPointer(rebasing: buffer[Int(low - offset)..<Int(high - offset)])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
      }
      if let failure { throw failure }
    }
  }

  /// Whether payloads, in order, have all bytes of a range.
  private static func covers(_ payloads: ArraySlice<Payload>, _ range: Range<UInt64>) -> Bool {
    var reach = range.lowerBound
    for payload in payloads {
      guard payload.offset <= reach else { return false }
      reach = max(reach, payload.end)
    }
    return reach >= range.upperBound
  }

  private func fill(
    _ buffer: UnsafeMutableRawBufferPointer, from file: File, at offset: UInt64
  ) throws(FSError) {
    let got = try FSError.wrapping { () throws(SystemError) in
      try file.read(into: buffer, at: offset)
    }
    guard got == buffer.count else {
      throw .store(
        .corrupt(
          "\(file.path): bytes \(offset) to \(offset + UInt64(buffer.count)) of a pending file are missing"
        ))
    }
  }

  private func check(
    _ bytes: UnsafeRawBufferPointer, _ payload: Payload, _ file: File
  ) throws(FSError) {
    guard Checksum.of(bytes) == payload.checksum else {
      throw .store(
        .corrupt(
          "\(file.path): bytes \(payload.offset) to \(payload.end) are not what was written there"))
    }
  }

  /// Takes bytes of a data file for what was written, where no record says what they must be: those that a
  /// checkpoint of format 1 refers to.
  func learnSums(of extent: Extent) throws(SystemError) {
    let (file, known) = state.withLock { s in
      (
        s.files[extent.source],
        s.sums[extent.source]?.overlapping(extent.offset..<(extent.offset + extent.length)) ?? []
      )
    }
    guard let file else { return }
    var learned: [Payload] = []
    var at = extent.offset
    func learn(to end: UInt64) throws(SystemError) {
      while at < end {
        let bytes = try file.read(Int(min(end - at, UInt64(Payload.blockSize))), at: at)
        guard !bytes.isEmpty else { return }
        learned.append(
          Payload(offset: at, checksum: Checksum.of(bytes), length: UInt32(bytes.count)))
        at += UInt64(bytes.count)
      }
    }
    for payload in known {
      try learn(to: payload.offset)
      at = max(at, payload.end)
    }
    try learn(to: extent.offset + extent.length)
    noteSums(learned, in: extent.source)
  }

  // MARK: - Checkpoints

  /// How many bytes all checksums that are kept take in a checkpoint.
  func sumsSize() -> Int {
    state.withLock { s in s.sums.values.reduce(0) { $0 + 24 * $1.payloads.count + 64 } }
  }

  /// The checksums of ranges of data files, as a checkpoint's records; ranges ascend.
  ///
  /// - Complexity: O(payloads in these files + ranges).
  func sumChanges(of ranges: [UInt32: [Range<UInt64>]]) -> [Change] {
    state.withLock { s in
      var changes: [Change] = []
      for (source, ranges) in ranges.sorted(by: { $0.key < $1.key }) {
        guard let kept = s.sums[source]?.overlapping(anyOf: ranges).payloads else { continue }
        for start in stride(from: 0, to: kept.count, by: Change.sumLimit) {
          changes.append(
            .sums(
              source: source,
              payloads: Array(kept[start..<min(start + Change.sumLimit, kept.count)])))
        }
      }
      return changes
    }
  }
}

extension LiveTree {
  /// The records of a checkpoint that say what pending bytes must be; call with the lock held.
  func sumChanges() -> [Change] {
    journal.sumChanges(of: referencedRanges())
  }
}
