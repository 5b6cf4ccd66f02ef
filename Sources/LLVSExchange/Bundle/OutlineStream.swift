import LLVSCore
internal import Platform

/// Reads a range of a bundle's outline in order, one frame in memory at a time.
/// Methods throw ``StoreError/invalid(_:)`` with the label if the range ends early or bytes are malformed.
/// - Concurrency: for one thread at a time.
final class OutlineStream {
  private let bundle: BundleReader
  private let label: String
  private let end: UInt64
  private var frame: [UInt8] = []
  private var position = 0
  /// The offset in the outline at which `frame` begins, and the number of the frame behind it.
  private var start: UInt64
  private var next: Int

  init(_ bundle: BundleReader, _ range: Range<UInt64>, label: String) {
    self.bundle = bundle
    self.label = label
    end = range.upperBound
    start = range.lowerBound
    next = 0
    seek(to: range.lowerBound)
  }

  func malformed(_ reason: String) -> StoreError { .invalid("\(label): \(reason)") }
  var offset: UInt64 { start + UInt64(position) }
  var isAtEnd: Bool { offset >= end }

  /// Skips to an offset that is within the range and not before this one.
  func skip(to offset: UInt64) {
    if offset - start <= UInt64(frame.count) {
      position = Int(offset - start)
    } else {
      seek(to: offset)
    }
  }

  private func seek(to offset: UInt64) {
    // The frame itself is read when a byte of it is.
    frame = []
    position = 0
    start = offset
    next = bundle.outlineStarts.partitioningIndex { offset < $0 } - 1
  }

  private func fill() throws(StoreError) {
    guard position == frame.count else { return }
    let offset = self.offset
    guard offset < end, next < bundle.directory.outline.count else {
      throw malformed("it ends too early")
    }
    frame = try bundle.outlineFrame(next)
    start = bundle.outlineStarts[next]
    position = Int(offset - start)
    next += 1
  }

  func byte() throws(StoreError) -> UInt8 {
    guard !isAtEnd else { throw malformed("it ends too early") }
    try fill()
    defer { position += 1 }
    return frame[position]
  }

  /// Reads bytes; memory is allocated as they come.
  func bytes(_ count: Int) throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard !isAtEnd else { throw malformed("it ends too early") }
      try fill()
      let most = min(count - bytes.count, frame.count - position)
      let part = min(UInt64(most), end - offset)
      bytes += frame[position..<(position + Int(part))]
      position += Int(part)
    }
    return bytes
  }

  func varint() throws(StoreError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try byte()
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 {
        guard byte != 0 || shift == 0 else { throw malformed("a number is malformed") }
        return value
      }
      shift += 7
      guard shift < 63 else { throw malformed("a number is malformed") }
    }
  }

  func counted(atMost bound: Int, _ what: String) throws(StoreError) -> [UInt8] {
    let count = try varint()
    guard count <= UInt64(bound) else { throw malformed("\(what) of more than \(bound) bytes") }
    return try bytes(Int(count))
  }

  func digest() throws(StoreError) -> Digest {
    guard let digest = Digest(bytes: try bytes(32)) else { throw malformed("a digest is cut off") }
    return digest
  }

  func id() throws(StoreError) -> Version.ID {
    let tag = try byte()
    let bytes = [tag] + (try bytes(tag == 0 ? 16 : Int(tag)))
    let id = bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      return reader.bundledID()
    }
    guard let id else { throw malformed("an id is malformed") }
    return id
  }
}
