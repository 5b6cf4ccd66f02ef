import LLVSCore
import ObjectStores
internal import Platform

/// A bundle that is being written into a file of the store's own.
final class OutgoingBundle {
  let writer: Bundle2Writer
  let sequence: UInt64
  /// The versions whose outlines it holds, in order.
  var versions: [VersionRecord] = []
  /// The bundles that items left out are in.
  var needs: Set<BundleName> = []
  private let file: File
  private let path: String

  /// Begins a bundle in `STORE/outgoing`, which is made if it is missing.
  init(
    writer name: String, sequence: UInt64, store: Store, seal: (any FrameSeal)?,
    _ control: ExchangeControl
  ) throws(StoreError) {
    self.sequence = sequence
    let directory = OutgoingBundle.directory(store)
    path = "\(directory)/\(sequence).bundle"
    let file: File
    do throws(SystemError) {
      if try !FileSystem.exists(directory) { try FileSystem.makeDirectory(directory) }
      file = try File(path, [.readWrite, .create, .truncate], permissions: 0o600)
    } catch {
      throw .system(error)
    }
    self.file = file
    var offset: UInt64 = 0
    writer = try Bundle2Writer(
      writer: name, sequence: sequence, scratch: store.path, seal: seal
    ) { (bytes) throws(StoreError) in
      try control.check()
      do throws(SystemError) {
        try file.write(bytes, at: offset)
      } catch {
        throw .system(error)
      }
      offset += UInt64(bytes.count)
    }
  }

  private static func directory(_ store: Store) -> String { "\(store.path)/outgoing" }

  /// Removes what interrupted sends left: their names are not used again.
  static func clean(_ store: Store) throws(StoreError) {
    do throws(SystemError) {
      try FileSystem.removeTree(directory(store))
    } catch {
      throw .system(error)
    }
  }

  /// Puts the finished file under its name.
  func put(_ name: BundleName, to objects: any ObjectStore) throws(StoreError) {
    guard let hash = SHA256Digest(bytes: name.hash.bytes) else {
      preconditionFailure("a digest has 32 bytes")
    }
    let body = ObjectBody(file, length: name.length, hash: hash)
    try asking { () throws(RemoteError) in try objects.put(name.object, body) }
  }

  deinit {
    // What cannot be removed now is removed by the next send.
    try? FileSystem.unlink(path)
  }
}
