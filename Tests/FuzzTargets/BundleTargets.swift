import Foundation
import Platform

@testable import LLVSCore
@testable import LLVSExchange

/// Bundles, which stand in folders that anybody may write to.
enum BundleTargets {
  /// A directory in memory where there is one.
  private static func scratch() -> String {
    let above = (try? FileSystem.exists("/dev/shm")) == true ? "/dev/shm" : "/tmp"
    return "\(above)/llvs-fuzz-\(SystemProcess.id)-\(SystemRandom.hex(4))"
  }

  /// A file that every run writes anew; it has no name.
  private static let file: File? = try? {
    let path = scratch()
    let file = try File(path, [.readWrite, .create, .exclusive])
    try FileSystem.unlink(path)
    return file
  }()

  /// Takes a file under the name that its bytes have, and reads all that is in it.
  static func bundle(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    guard let file else { throw FuzzTarget.Failure(description: "no place for a bundle") }
    do throws(SystemError) {
      try file.truncate(to: 0)
      try file.write(bytes, at: 0)
    } catch {
      throw FuzzTarget.Failure(description: "no place for a bundle: \(error)")
    }
    let name = BundleName(
      writer: "w", sequence: 1, length: UInt64(bytes.count), hash: Digest.of(bytes))
    let opened: BundleReader?
    do throws(StoreError) {
      opened = try BundleReader.open(
        name, cache: BundleCache(), check: {},
        bytes: { (offset, count) throws(StoreError) in
          do throws(SystemError) {
            return try file.read(count, at: offset)
          } catch {
            throw .system(error)
          }
        })
    } catch {
      try expect(error.isInvalid, "a bundle is refused for another reason than its bytes: \(error)")
      return
    }
    guard let opened else {
      throw FuzzTarget.Failure(description: "a bundle with its own hash in its name counts as torn")
    }
    try expect(opened.entries.count <= BundleFormat.maximumVersions, "versions without bound")
    var ids: [(Version.ID, Version.ID)] = []
    for index in opened.entries.indices.prefix(64) {
      do throws(StoreError) {
        let version = try opened.version(index)
        ids.append((version.id, opened.entries[index].id))
        try opened.changes(index).read(into: MemorySink(atMost: 1 << 20)) { _ in }
      } catch {
        try expect(error.isInvalid, "a version is refused for another reason: \(error)")
      }
    }
    for (own, told) in ids {
      try expect(own == told, "a version bears another id than its bundle says")
    }
  }

  // MARK: Seeds

  /// Bundles of one to three versions, as earlier programs wrote them.
  static let seeds: [[UInt8]] = (1...3).map { count in
    var (content, index) = ([UInt8](), [UInt8]())
    for number in 0..<count {
      var changes: [UInt8] = [2, 1, 0x6B, UInt8(100 * number % 128)]
      changes += [UInt8](repeating: 7, count: 100 * number % 128)
      changes += [1, 1, 0x61, 3, 1, 2, 3, 3, 1, 0x62, 5, 1, 0x63, 4, 1, 0x64, 2, 0x76, 0x30]
      var version: [UInt8] = number == 0 ? [0] : [1, 1]
      version.append(bigEndian: Double(number).bitPattern)
      version += [0, 1, 1, 0x6D, 1, 0x31]
      index += [2, 0x76, 0x30 + UInt8(number)]
      for part in [version, changes] {
        index.append(varint: UInt64(content.count))
        index.append(varint: UInt64(part.count))
        content += part
      }
    }
    var whole: [UInt8] = [1]
    whole.append(varint: UInt64(content.count))
    whole.append(varint: UInt64(content.count))
    whole.append(varint: UInt64(count))
    whole += index
    var bytes = BundleFormat.head + content + whole
    bytes.append(bigEndian: UInt32(whole.count))
    bytes.append(bigEndian: UInt32(whole.count))
    return bytes + BundleFormat.tailMagic
  }
}

extension StoreError {
  /// True if the error is about the bytes that were read.
  fileprivate var isInvalid: Bool {
    if case .invalid = self { return true }
    return false
  }
}
