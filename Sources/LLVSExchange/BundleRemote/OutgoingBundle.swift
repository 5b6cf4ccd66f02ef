import LLVSCore
import ObjectStores
internal import Platform

/// A bundle that is being written into an unnamed file in the store's directory.
final class OutgoingBundle {
  let writer: BundleWriter
  let sequence: UInt64
  var versions: [VersionRecord] = []
  var needs: Set<BundleName> = []
  private let file: File

  init(
    writer name: String, sequence: UInt64, store: Store, seal: BundleSeal?,
    _ control: ExchangeControl
  ) throws(StoreError) {
    self.sequence = sequence
    let file = try OutgoingBundle.makeFile(store)
    self.file = file
    var offset: UInt64 = 0
    writer = try BundleWriter(
      writer: name, sequence: sequence, scratch: store.path, seal: seal
    ) { (bytes) throws(StoreError) in
      try control.check()
      try StoreError.translating(try file.write(bytes, at: offset))
      offset += UInt64(bytes.count)
    }
  }

  private static func directory(_ store: Store) -> String { "\(store.path)/outgoing" }

  private static func makeFile(_ store: Store) throws(StoreError) -> File {
    let directory = directory(store)
    return try StoreError.wrapping { () throws(SystemError) in
      do throws(SystemError) {
        try FileSystem.makeDirectory(directory)
      } catch {
        guard error.errno == Errno.exists else { throw error }
      }
      let path = "\(directory)/\(SystemRandom.hex(8)).bundle"
      let file = try File(path, [.readWrite, .create, .exclusive], permissions: 0o600)
      do throws(SystemError) {
        try FileSystem.unlink(path)
      } catch {
        // Another send that begins now may have removed the name as that of a file left behind.
        guard error.errno == Errno.noEntry else { throw error }
      }
      return file
    }
  }

  static func clean(_ store: Store) {
    let directory = directory(store)
    // A file that cannot be removed now is removed by the next send.
    for name in (try? FileSystem.list(directory)) ?? [] {
      try? FileSystem.unlink("\(directory)/\(name)")
    }
  }

  /// Returns true if a call failed on a file that a send writes for itself.
  static func isOwnFile(of error: StoreError, _ store: Store) -> Bool {
    guard case .system(let failed) = error else { return false }
    return failed.subject.hasPrefix(directory(store))
      || failed.subject.hasPrefix("\(store.path)/\(Spool.filePrefix)")
  }

  func body(_ name: BundleName) -> ObjectBody {
    guard let hash = SHA256Digest(bytes: name.hash.bytes) else {
      preconditionFailure("a digest has 32 bytes")
    }
    return ObjectBody(file, length: name.length, hash: hash)
  }
}
