internal import CZlib
internal import Foundation

/// A zip archive in memory: stored or deflated files, with Zip64 (PKWARE, APPNOTE.TXT 6.3.10).
struct ZipArchive {
  private struct Directory {
    var name: [UInt8]
    var method: UInt16
    var sum: UInt32
    var packed: UInt64
    var length: UInt64
    var offset: UInt64
  }

  private var bytes: [UInt8] = []
  private var files: [Directory] = []

  /// Adds a file, deflated if that makes it shorter.
  mutating func add(_ path: String, _ data: [UInt8]) {
    let deflated = Self.deflated(data)
    let (method, packed): (UInt16, [UInt8]) = deflated.map { (8, $0) } ?? (0, data)
    let file = Directory(
      name: Array(path.utf8), method: method, sum: Self.sum(data), packed: UInt64(packed.count),
      length: UInt64(data.count), offset: UInt64(bytes.count))
    files.append(file)
    append(UInt32(0x0403_4B50))
    // Version 2.0; names are UTF-8; the first day of the format.
    append(UInt16(20), UInt16(0x0800), method, UInt16(0), UInt16(0x21))
    append(file.sum, UInt32(packed.count), UInt32(data.count))
    append(UInt16(file.name.count), UInt16(0))
    bytes += file.name
    bytes += packed
  }

  private mutating func append<T: FixedWidthInteger>(_ numbers: T...) {
    for number in numbers {
      for byte in 0..<(T.bitWidth / 8) {
        bytes.append(UInt8(truncatingIfNeeded: number >> (8 * byte)))
      }
    }
  }

  func finished() -> Data {
    var archive = self
    let start = UInt64(bytes.count)
    for file in files {
      let isFar = file.offset >= UInt32.max
      archive.append(UInt32(0x0201_4B50))
      archive.append(UInt16(45), UInt16(45), UInt16(0x0800), file.method, UInt16(0), UInt16(0x21))
      archive.append(file.sum, UInt32(file.packed), UInt32(file.length))
      archive.append(
        UInt16(file.name.count), UInt16(isFar ? 12 : 0), UInt16(0), UInt16(0), UInt16(0))
      archive.append(UInt32(0), isFar ? UInt32.max : UInt32(file.offset))
      archive.bytes += file.name
      if isFar {
        archive.append(UInt16(1), UInt16(8))
        archive.append(file.offset)
      }
    }
    let (end, count) = (UInt64(archive.bytes.count), UInt64(files.count))
    if count >= UInt16.max || end >= UInt32.max {
      archive.append(UInt32(0x0606_4B50))
      archive.append(UInt64(44))
      archive.append(UInt16(45), UInt16(45))
      archive.append(UInt32(0), UInt32(0))
      archive.append(count, count, end - start, start)
      archive.append(UInt32(0x0706_4B50), UInt32(0))
      archive.append(end)
      archive.append(UInt32(1))
    }
    let shortCount = UInt16(clamping: count)
    archive.append(UInt32(0x0605_4B50))
    archive.append(UInt16(0), UInt16(0), shortCount, shortCount)
    archive.append(UInt32(clamping: end - start), UInt32(clamping: start))
    archive.append(UInt16(0))
    return Data(archive.bytes)
  }

  private static func sum(_ data: [UInt8]) -> UInt32 {
    data.withUnsafeBytes { raw in
      UInt32(
        truncatingIfNeeded: crc32_z(
          0, raw.baseAddress?.assumingMemoryBound(to: UInt8.self), raw.count))
    }
  }

  static func entries(of archive: Data) throws -> [Snapshot.Entry] {
    let bytes = [UInt8](archive)
    var entries: [Snapshot.Entry] = []
    let (start, count) = try directory(of: bytes)
    var place = start
    // An archive that claims to contain more is refused before memory is allocated.
    var budget = UInt64(bytes.count) * 1100 + 65_536
    for _ in 0..<count {
      let file = try file(of: bytes, at: &place)
      guard file.name.last != UInt8(ascii: "/") else { continue }
      guard file.length <= budget else { throw damaged() }
      budget -= file.length
      let data = try content(of: file, in: bytes)
      guard sum(data) == file.sum else {
        throw Store.Error.corrupt(
          "\(String(decoding: file.name, as: UTF8.self)) in the snapshot is damaged")
      }
      entries.append(
        Snapshot.Entry(path: String(decoding: file.name, as: UTF8.self), data: Data(data)))
    }
    return entries
  }

  private static func damaged() -> Store.Error {
    .corrupt("the snapshot is not a whole zip archive")
  }

  private static func number<T: FixedWidthInteger>(
    _ bytes: [UInt8], _ offset: Int, as type: T.Type
  ) throws -> T {
    let count = T.bitWidth / 8
    guard offset >= 0, bytes.count >= count, offset <= bytes.count - count else { throw damaged() }
    return (0..<count).reduce(0) { $0 | T(truncatingIfNeeded: bytes[offset + $1]) << (8 * $1) }
  }

  private static func directory(of bytes: [UInt8]) throws -> (start: Int, count: Int) {
    // A comment of up to 65,535 bytes may follow the end.
    let first = max(0, bytes.count - 22 - 65_535)
    guard bytes.count >= 22,
      let end = try stride(from: bytes.count - 22, through: first, by: -1).first(where: {
        try number(bytes, $0, as: UInt32.self) == 0x0605_4B50
      })
    else { throw damaged() }
    var count = UInt64(try number(bytes, end + 10, as: UInt16.self))
    var start = UInt64(try number(bytes, end + 16, as: UInt32.self))
    if end >= 20, try number(bytes, end - 20, as: UInt32.self) == 0x0706_4B50 {
      let far = try number(bytes, end - 12, as: UInt64.self)
      guard far < UInt64(bytes.count), try number(bytes, Int(far), as: UInt32.self) == 0x0606_4B50
      else { throw damaged() }
      count = try number(bytes, Int(far) + 32, as: UInt64.self)
      start = try number(bytes, Int(far) + 48, as: UInt64.self)
    }
    guard start <= UInt64(bytes.count), count <= UInt64(bytes.count) / 46 else { throw damaged() }
    return (Int(start), Int(count))
  }

  private static func file(of bytes: [UInt8], at place: inout Int) throws -> Directory {
    guard try number(bytes, place, as: UInt32.self) == 0x0201_4B50 else { throw damaged() }
    let nameLength = Int(try number(bytes, place + 28, as: UInt16.self))
    let extraLength = Int(try number(bytes, place + 30, as: UInt16.self))
    let commentLength = Int(try number(bytes, place + 32, as: UInt16.self))
    let nameEnd = place + 46 + nameLength
    guard nameEnd + extraLength + commentLength <= bytes.count else { throw damaged() }
    var file = Directory(
      name: Array(bytes[(place + 46)..<nameEnd]),
      method: try number(bytes, place + 10, as: UInt16.self),
      sum: try number(bytes, place + 16, as: UInt32.self),
      packed: UInt64(try number(bytes, place + 20, as: UInt32.self)),
      length: UInt64(try number(bytes, place + 24, as: UInt32.self)),
      offset: UInt64(try number(bytes, place + 42, as: UInt32.self)))
    // Fields that do not fit are in the extra field 1.
    var extra = nameEnd
    while extra + 4 <= nameEnd + extraLength {
      let (kind, size) = (
        try number(bytes, extra, as: UInt16.self),
        Int(try number(bytes, extra + 2, as: UInt16.self))
      )
      if kind == 1 {
        var field = extra + 4
        for path in [\Directory.length, \Directory.packed, \Directory.offset]
        where file[keyPath: path] == UInt64(UInt32.max) {
          file[keyPath: path] = try number(bytes, field, as: UInt64.self)
          field += 8
        }
      }
      extra += 4 + size
    }
    place = nameEnd + extraLength + commentLength
    return file
  }

  private static func content(of file: Directory, in bytes: [UInt8]) throws -> [UInt8] {
    guard file.offset <= UInt64(bytes.count), file.packed <= UInt64(bytes.count) else {
      throw damaged()
    }
    let header = Int(file.offset)
    guard try number(bytes, header, as: UInt32.self) == 0x0403_4B50 else { throw damaged() }
    let start =
      header + 30 + Int(try number(bytes, header + 26, as: UInt16.self))
      + Int(try number(bytes, header + 28, as: UInt16.self))
    let end = start + Int(file.packed)
    guard end <= bytes.count else { throw damaged() }
    switch file.method {
    case 0:
      guard file.packed == file.length else { throw damaged() }
      return Array(bytes[start..<end])
    case 8:
      guard let data = inflated(bytes[start..<end], length: Int(file.length)) else {
        throw damaged()
      }
      return data
    default: throw Store.Error.fromTheFuture("a zip archive with the method \(file.method)")
    }
  }

  private static func deflated(_ data: [UInt8]) -> [UInt8]? {
    guard data.count > 64 else { return nil }
    var stream = z_stream()
    guard
      deflateInit2_(
        &stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { deflateEnd(&stream) }
    // The output has one byte less than the data, because a longer result is useless.
    return run(&stream, over: data[...], into: data.count - 1) { deflate($0, Z_FINISH) }
  }

  private static func inflated(_ data: ArraySlice<UInt8>, length: Int) -> [UInt8]? {
    var stream = z_stream()
    guard
      inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { inflateEnd(&stream) }
    let result = run(&stream, over: data, into: length) { inflate($0, Z_FINISH) }
    return result?.count == length ? result : nil
  }

  private static func run(
    _ stream: inout z_stream, over data: ArraySlice<UInt8>, into length: Int,
    _ work: (UnsafeMutablePointer<z_stream>) -> Int32
  ) -> [UInt8]? {
    // An empty array would have no address.
    var output = [UInt8](repeating: 0, count: max(1, length))
    let (code, left) = data.withUnsafeBytes { input in
      output.withUnsafeMutableBytes { room in
        stream.next_in = UnsafeMutablePointer(
          mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.avail_in = UInt32(clamping: input.count)
        stream.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.avail_out = UInt32(clamping: room.count)
        let code = work(&stream)
        return (code, Int(stream.avail_out))
      }
    }
    guard code == Z_STREAM_END else { return nil }
    output.removeLast(left)
    return output
  }
}
