internal import Platform

/// Repairs damaged records with the bytes that they held.
///
/// INVARIANT S7: a committed record is rewritten only if reading it fails, and with the bytes that it held. The
/// remains of the record prove that: its fields, with the checksum, or its payload; or nothing but zeros is left. A
/// power failure during the repair leaves a damaged record, as before.
extension RecordStore {
  /// Rewrites a damaged record in its place; the caller knows its bytes by their digest.
  /// - Returns: true if the record can be read now, durably; false also if nothing proves that it held these bytes.
  func repair(_ kind: RecordKind, _ bytes: UnsafeRawBufferPointer, at location: Location) -> Bool {
    guard gone?.mayUse(location) ?? true else { return false }
    do {
      if let there = try? read(kind, at: location) {
        return there.withUnsafeBytes { $0.compare(to: bytes) == 0 }
      }
      let opened = try files.open(location.segment, .readWrite)
      guard let offset = try opened.offset(of: location) else { return false }
      let left = try opened.file.read(Int(location.length), at: offset)
      var packed = packed(kind, bytes)
      var payload = packed.payload ?? Array(bytes)
      var fields = [UInt8](repeating: 0, count: SegmentFormat.recordHeaderSize)
      if left.count != fields.count + payload.count {
        let rest = Array(left.dropFirst(fields.count))
        let places = try bases(of: location, kind, rest).places
        if kind == .chunk { repairPiece(ofPatch: places, of: bytes) }
        guard let patch = patch(kind, bytes, from: places), let made = patch.payload else {
          return false
        }
        (packed, payload) = (patch, made)
      }
      fields.withUnsafeMutableBytes { packed.header.write(to: $0) }
      guard left.count == Int(location.length), left.count == fields.count + payload.count,
        left.starts(with: fields) || left.dropFirst(fields.count).elementsEqual(payload)
          || left.allSatisfy({ $0 == 0 })
      else { return false }
      try opened.file.write(fields + payload, at: offset)
      try opened.file.syncData()
      return try read(kind, at: location).withUnsafeBytes { $0.compare(to: bytes) == 0 }
    } catch {
      // The record stays damaged, and reading it reports that.
      return false
    }
  }
}
