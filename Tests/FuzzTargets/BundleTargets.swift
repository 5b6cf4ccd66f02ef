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

  /// What the program's own writer makes of a few versions.
  static let seeds: [[UInt8]] = {
    let directory = scratch()
    defer { try? FileSystem.removeTree(directory) }
    guard
      let bytes = try? { () throws -> [[UInt8]] in
        try FileSystem.makeDirectory(directory)
        let store = try Store.open(path: directory + "/s", create: true)
        var found: [[UInt8]] = []
        var last: Version.ID?
        for number in 0..<3 {
          last =
            try store.makeVersion(
              basedOnPredecessor: last,
              updating: [
                Value(id: Value.ID("a/\(number)"), data: Array("some text \(number)".utf8)),
                Value(id: Value.ID("k"), data: [UInt8](repeating: 7, count: 100 * number)),
              ]
            ).id
          let folder = "\(directory)/f\(number)"
          let exchange = BundleExchange(
            rootDirectoryURL: URL(fileURLWithPath: folder, isDirectory: true), store: store)
          _ = try exchange.send(control: ExchangeControl())
          for name in try FileSystem.list(folder + "/bundles") {
            found.append(try FileSystem.read("\(folder)/bundles/\(name)", atMost: 1 << 20))
          }
        }
        return found
      }()
    else { return [] }
    return bytes
  }()
}

extension StoreError {
  /// Whether the error is about the bytes that were read.
  fileprivate var isInvalid: Bool {
    if case .invalid = self { return true }
    return false
  }
}
