internal import Platform

/// Damaged records that are made whole again by the bytes they had.
///
/// INVARIANT 10: a record that was committed is written again only where reading it fails, with the bytes
/// that it had: what is left of it says so, either its fields, with the checksum, or its payload; or nothing
/// but zeros is left. A power failure while it is written leaves a record that is damaged, as it was.
extension RecordStore {
  /// Writes a record again in the place where it is damaged; the caller knows what it held by its digest.
  ///
  /// - Returns: whether the record is there now, durably; false also where nothing shows that it was this one.
  /// - Concurrency: any thread of the process that writes; several at once write the same.
  func mend(
    _ kind: RecordKind, _ bytes: UnsafeRawBufferPointer, at location: Location
  ) -> Bool {
    let packed = packed(kind, bytes)
    let payload = packed.payload ?? Array(bytes)
    guard Int(location.length) == SegmentFormat.recordHeaderSize + payload.count else {
      return false
    }
    var fields = [UInt8](repeating: 0, count: SegmentFormat.recordHeaderSize)
    fields.withUnsafeMutableBytes { packed.header.write(to: $0) }
    do {
      if let there = try? read(kind, at: location) {
        return there.withUnsafeBytes { $0.compare(to: bytes) == 0 }
      }
      // Its header is checked.
      _ = try files.file(location.segment)
      let file = try File(files.path(location.segment), [.readWrite, .noFollow, .nonBlocking])
      guard try file.status().kind == .regular else { return false }
      let left = try file.read(Int(location.length), at: location.offset)
      guard left.count == Int(location.length),
        left.starts(with: fields) || left.dropFirst(fields.count).elementsEqual(payload)
          || left.allSatisfy({ $0 == 0 })
      else { return false }
      try file.write(fields + payload, at: location.offset)
      try file.syncData()
      return try read(kind, at: location).withUnsafeBytes { $0.compare(to: bytes) == 0 }
    } catch {
      // It stays damaged, and is named to who reads it.
      return false
    }
  }
}
