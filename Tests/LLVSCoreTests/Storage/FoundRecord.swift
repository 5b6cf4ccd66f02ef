import Platform

@testable import LLVSCore

/// A record of a store's segment, as it is on disk.
struct FoundRecord {
  var location: Location
  var header: RecordHeader
  var payload: [UInt8]

  /// The places of the bases of a patch.
  var bases: [Location] {
    guard header.isDelta, header.kind != .mapNode else { return [] }
    let count = Int(payload[0])
    return Array(payload[1..<(1 + count * SegmentFormat.baseLength)]).parsed { reader in
      (0..<count).compactMap { _ in reader.location() }
    } ?? []
  }

  /// The records of the first segments of a store, in their order.
  static func all(in store: String) throws -> [FoundRecord] {
    var found: [FoundRecord] = []
    for segment: UInt32 in 1...9 {
      let file = "\(store)/segments/\(SegmentFormat.name(of: segment))"
      guard try FileSystem.exists(file) else { continue }
      let bytes = try FileSystem.read(file, atMost: 256 << 20)
      var offset = SegmentFormat.headerSize
      while offset + SegmentFormat.recordHeaderSize <= bytes.count,
        let header = bytes.withUnsafeBytes({
          RecordHeader(UnsafeRawBufferPointer(rebasing: $0[offset...]))
        })
      {
        let start = offset + SegmentFormat.recordHeaderSize
        found.append(
          FoundRecord(
            location: Location(
              segment: segment, offset: UInt64(offset),
              length: UInt32(SegmentFormat.recordHeaderSize + header.payloadLength)),
            header: header, payload: Array(bytes[start..<(start + header.payloadLength)])))
        offset = start + header.payloadLength
      }
    }
    return found
  }
}
