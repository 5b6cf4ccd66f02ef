import LLVSCore
import Platform

/// A bundle put together by hand from the description of the format, not by the program's writer.
struct BundleSample {
  private var content: [UInt8] = []
  private var index: [UInt8] = []
  private var count = 0
  var head = Array("LLVSBDL".utf8) + [1, 0, 0, 0, 0]

  /// Adds a version whose predecessors are named by their ids.
  mutating func add(_ version: Version, changes: [UInt8]) {
    var bytes: [UInt8] = [UInt8(version.predecessors?.ids.count ?? 0)]
    for id in version.predecessors?.ids ?? [] { bytes += [0] + BundleSample.id(id) }
    bytes += (0..<8).map {
      UInt8(truncatingIfNeeded: version.timestamp.bitPattern >> (56 - 8 * UInt64($0)))
    }
    bytes += BundleSample.varint(version.valueDataSize.map { Int($0) + 1 } ?? 0)
    bytes += BundleSample.varint(version.metadata.count)
    for (key, value) in version.metadata.sorted(by: { $0.key < $1.key }) {
      bytes += BundleSample.varint(key.rawValue.utf8.count) + key.rawValue.utf8
      bytes += BundleSample.varint(value.data.count) + value.data
    }
    add(version.id, bytes, changes)
  }

  mutating func add(_ id: Version.ID, _ version: [UInt8], _ changes: [UInt8]) {
    index += BundleSample.id(id)
    for part in [version, changes] {
      index += BundleSample.varint(content.count) + BundleSample.varint(part.count)
      content += part
    }
    count += 1
  }

  /// The bytes of the file, nothing in it packed.
  func bytes(frames: [(packed: Int, unpacked: Int)]? = nil, tail: [UInt8]? = nil) -> [UInt8] {
    let frames = frames ?? (content.isEmpty ? [] : [(content.count, content.count)])
    var all = BundleSample.varint(frames.count)
    for frame in frames {
      all += BundleSample.varint(frame.packed) + BundleSample.varint(frame.unpacked)
    }
    all += BundleSample.varint(count) + index
    let length = (0..<4).map { UInt8(truncatingIfNeeded: all.count >> (24 - 8 * $0)) }
    return head + content + all + (tail ?? length + length + Array("LLVSBDLE".utf8))
  }

  @discardableResult
  func write(to folder: String, writer: String) throws -> String {
    try BundleSample.write(bytes(), to: folder, writer: writer)
  }

  /// Puts bytes under the name that they have.
  @discardableResult
  static func write(
    _ bytes: [UInt8], to folder: String, writer: String, sequence: String = "0000000007"
  ) throws -> String {
    let directory = "\(folder)/bundles"
    if try !FileSystem.exists(directory) { try FileSystem.makeDirectory(directory) }
    let name = "\(writer)-\(sequence)-\(bytes.count)-\(Digest.of(bytes).hex).bundle"
    try File("\(directory)/\(name)", [.readWrite, .create, .truncate]).write(bytes, at: 0)
    return name
  }

  static func varint(_ value: Int) -> [UInt8] {
    value < 128 ? [UInt8(value)] : [UInt8(value % 128) | 128] + varint(value / 128)
  }

  static func id(_ id: Version.ID) -> [UInt8] {
    let hex = id.rawValue.filter { $0 != "-" }
    guard id.rawValue.utf8.count == 36, hex.count == 32, hex.uppercased() == hex,
      let high = UInt64(hex.prefix(16), radix: 16), let low = UInt64(hex.suffix(16), radix: 16)
    else { return [UInt8(id.rawValue.utf8.count)] + id.rawValue.utf8 }
    return [0]
      + [high, low].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
      }
  }
}
