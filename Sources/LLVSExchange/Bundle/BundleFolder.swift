import LLVSCore
internal import ObjectStores
internal import Platform
internal import Synchronization

/// The bundles at a remote.
///
/// INVARIANT B1: a bundle is put only after the bundles with the predecessors of its versions; readers take
///   one for whole only if its bytes have the length and the hash in its name.
/// INVARIANT B2: a bundle of another writer is never changed or removed. One of this writer is
///   removed only if its bytes do not match its name, or after others that hold all its versions
///   are in place.
///
/// - Concurrency: reading from any thread, writing from one at a time.
final class BundleFolder: Sendable {
  private let objects: any ObjectStore
  private let transfer: TransferControl
  private let replica: String
  private let temporary: String
  /// The directory for bundles that were fetched. Held while it is made.
  private let fetched = Mutex<String?>(nil)

  /// True if reading costs no journey: bundles are then read where they are, and checked now and then.
  let isNear: Bool

  /// Uses a remote; the store's replica id is its name as a writer, and its directory holds what is on its
  /// way.
  init(_ objects: any ObjectStore, for store: Store, transfer: TransferControl) {
    self.objects = objects
    self.transfer = transfer
    replica = store.replicaID
    temporary = store.path
    isNear = objects.capabilities.contains(.isNear)
  }

  deinit {
    // Files that cannot be removed now are no part of the store.
    if let path = fetched.withLock({ $0 }) { try? FileSystem.removeTree(path) }
  }

  // MARK: Reading

  /// Returns the names of the bundles that have the length in their name, by writer and in the
  /// order of writing, and the names of those that have another length. Files with other names are
  /// not bundles.
  func list() throws(StoreError) -> (whole: [BundleName], torn: [String]) {
    guard let prefix = ObjectPrefix(folder: BundleFormat.directory) else { return ([], []) }
    let listed = try asking { () throws(RemoteError) in try objects.all(prefix) }
    var (names, torn) = ([BundleName](), [String]())
    for object in listed {
      guard let name = BundleName(object.name.last) else { continue }
      if object.length == name.length { names.append(name) } else { torn.append(name.text) }
    }
    return (names.sorted(), torn.sorted())
  }

  private static func object(_ text: String) throws(StoreError) -> ObjectName {
    guard let name = ObjectName("\(BundleFormat.directory)/\(text)") else {
      throw .invalid("\(text) is no name of an object")
    }
    return name
  }

  /// Opens a bundle that was listed; nil if it is torn or gone.
  ///
  /// - Throws: ``StoreError/invalid(_:)``, with the file's name, if it is whole and not a bundle.
  func open(
    _ name: BundleName, cache: BundleCache, control: ExchangeControl
  ) throws(StoreError) -> BundleReader? {
    let object = try Self.object(name.text)
    let bytes: BundleReader.Bytes
    if isNear {
      bytes = { [objects] (offset, count) throws(StoreError) in
        try asking { () throws(RemoteError) in
          try objects.bytes(of: object, range: offset..<(offset + UInt64(count)), atMost: count)
        }
      }
    } else {
      guard let path = try fetch(name, object) else { return nil }
      bytes = { (offset, count) throws(StoreError) in
        do throws(SystemError) {
          return try File(path, [.read]).read(count, at: offset)
        } catch {
          throw .system(error)
        }
      }
    }
    do throws(StoreError) {
      return try BundleReader.open(name, cache: cache, check: control.check, bytes: bytes)
    } catch {
      guard case .unreachable = error, try lacks(any: [name]) else { throw error }
      return nil
    }
  }

  /// Fetches a bundle by one request, and returns the path of its file; nil if it is gone, or longer than
  /// its name says.
  private func fetch(_ name: BundleName, _ object: ObjectName) throws(StoreError) -> String? {
    let path = "\(try fetchedDirectory())/\(name.text)"
    let part = "\(path).part"
    var offset: UInt64 = 0
    do throws(RemoteError) {
      if try locally({ () throws(SystemError) in try FileSystem.exists(path) }) { return path }
      let file = try locally { () throws(SystemError) in
        try File(part, [.readWrite, .create, .truncate], permissions: 0o600)
      }
      try objects.get(object, range: nil) { (piece) throws(RemoteError) in
        try locally { () throws(SystemError) in try file.write(piece, at: offset) }
        offset += UInt64(piece.count)
        // What is longer is not read to its end, which might never come.
        return offset <= name.length
      }
      try locally { () throws(SystemError) in try FileSystem.rename(part, to: path) }
      return path
    } catch {
      guard error.kind == .absent else { throw StoreError(error) }
      return nil
    }
  }

  /// Calls this machine, and throws its error as one of a remote.
  private func locally<Result>(
    _ body: () throws(SystemError) -> Result
  ) throws(RemoteError) -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      throw RemoteError(error)
    }
  }

  private func fetchedDirectory() throws(StoreError) -> String {
    let outcome = fetched.withLock { path in
      Result<String, StoreError> { () throws(StoreError) in
        if let path { return path }
        let made = "\(temporary)/incoming-\(SystemRandom.hex(8)).tmp"
        do throws(SystemError) {
          try FileSystem.makeDirectory(made, permissions: 0o700)
        } catch {
          throw .system(error)
        }
        path = made
        return made
      }
    }
    return try outcome.get()
  }

  /// Returns true if one of these bundles is gone although the remote is there.
  func lacks(any names: [BundleName]) throws(StoreError) -> Bool {
    let (whole, torn) = try list()
    let there = Set(whole)
    return names.contains { !there.contains($0) && !torn.contains($0.text) }
  }

  // MARK: Writing

  /// Prepares the remote for bundles, and removes torn ones of this writer: their versions are sent anew.
  func prepare() throws(StoreError) {
    guard BundleName.isWriter(replica) else {
      throw .invalid("\(replica) is no name for a writer of bundles")
    }
    try asking { () throws(RemoteError) in try objects.prepare([BundleFormat.directory]) }
    let torn = try list().torn
    for text in torn where BundleName(text)?.writer == replica { try delete(text) }
  }

  private func delete(_ text: String) throws(StoreError) {
    let object = try Self.object(text)
    try asking { () throws(RemoteError) in try objects.delete(object) }
  }

  /// Begins the bytes of a bundle.
  func begin() -> BodySpool { BodySpool(directory: temporary, memoryLimit: 1 << 20) }

  /// Puts a bundle under its name, durably, and returns the name.
  func publish(
    _ spool: BodySpool, sequence: UInt64, hash: Digest
  ) throws(StoreError) -> BundleName {
    let name = BundleName(
      writer: replica, sequence: sequence, length: spool.length, hash: hash)
    let object = try Self.object(name.text)
    try asking { () throws(RemoteError) in try objects.put(object, try spool.body()) }
    return name
  }

  /// Returns true if this store wrote a bundle.
  func isOwn(_ name: BundleName) -> Bool { name.writer == replica }

  /// Removes bundles of this writer; those that are gone already count as removed.
  func remove(_ names: [BundleName]) throws(StoreError) {
    for name in names where isOwn(name) { try delete(name.text) }
  }

  /// Returns the sequence number of this writer's next bundle.
  func nextSequence(after names: [BundleName]) -> UInt64 {
    let last = names.filter { $0.writer == replica }.map(\.sequence).max()
    return last.map { BundleName.sequence(after: $0) } ?? 0
  }
}
