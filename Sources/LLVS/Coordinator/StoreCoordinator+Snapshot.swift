internal import Foundation
internal import LLVSExchange

extension StoreCoordinator {
  /// The bytes of a part of a snapshot.
  private static let chunkSize = 5_000_000

  /// Begins with the snapshot at the other side of the ``exchange``, which is less to retrieve than
  /// all versions one by one; the newest version becomes the current one.
  ///
  /// Does nothing if the store has versions besides the first, if there is no snapshot, or if the
  /// exchange keeps none. All versions of a snapshot pass the checks of an exchange.
  ///
  /// - Returns: true if the store has the versions of a snapshot now.
  /// - Throws: ``Store/Error/corrupt(_:)`` for a snapshot that differs from its description; the
  ///   error of the exchange. Nothing is stored then.
  @discardableResult
  public func bootstrapFromSnapshot() async throws -> Bool {
    guard let exchange = exchange as? any SnapshotExchange,
      store.queryHistory(in: { $0.allVersionIdentifiers.count }) <= 1,
      let manifest = try await exchange.retrieveSnapshotManifest()
    else { return false }
    guard manifest.hasPathSafeId else {
      throw Store.Error.corrupt("the snapshot has an id that cannot be part of a path")
    }
    try Snapshot.check(manifest)
    let scratch = try ScratchDirectory()
    var size: Int64 = 0
    for index in 0..<manifest.chunkCount {
      let chunk = try await exchange.retrieveSnapshotChunk(index: index)
      size += Int64(chunk.count)
      guard size <= manifest.totalSize else {
        throw Store.Error.corrupt("the snapshot is longer than its description says")
      }
      try chunk.write(to: scratch.url.appendingPathComponent(SnapshotManifest.chunkName(index)))
    }
    let store = store
    try await Threads.run { _ in
      let copy = scratch.url.appendingPathComponent("store", isDirectory: true)
      try Snapshot.restore(manifest, from: scratch.url, to: copy)
      let restored = try Store(rootDirectoryURL: copy)
      guard restored.queryHistory(in: { $0.allVersionIdentifiers.count }) >= manifest.versionCount
      else { throw Store.Error.corrupt("the snapshot lacks versions") }
      try store.addVersions(of: restored)
    }
    // The empty version that this store began with may be newer.
    let latest = manifest.latestVersionId
    if let start = try store.version(identifiedBy: latest)?.id ?? store.mostRecentHead?.id {
      move(to: start)
    }
    return true
  }

  /// Writes a snapshot to the other side if the policy says that it is time.
  func sendSnapshotIfDue(by exchange: any SnapshotExchange) async throws {
    guard snapshotPolicy.enabled else { return }
    let count = store.queryHistory { $0.allVersionIdentifiers.count }
    if let last = try await exchange.retrieveSnapshotManifest() {
      let age = Date().timeIntervalSince(last.createdAt)
      guard age >= snapshotPolicy.minimumInterval,
        count - last.versionCount >= snapshotPolicy.minimumNewVersions
      else { return }
    }
    let scratch = try ScratchDirectory()
    let store = store
    let manifest = try await Threads.run { _ in
      let copy = scratch.url.appendingPathComponent("store", isDirectory: true)
      try Store(rootDirectoryURL: copy, storage: FileStorage(isDurable: false))
        .addVersions(of: store)
      return try Snapshot.write(
        copy, to: scratch.url, maxChunkSize: StoreCoordinator.chunkSize)
    }
    try await exchange.sendSnapshot(manifest: manifest) { index in
      try Data(
        contentsOf: scratch.url.appendingPathComponent(SnapshotManifest.chunkName(index)))
    }
  }
}

extension Store {
  /// Adds the versions of another store that this one lacks, after the checks of an exchange.
  ///
  /// - Throws: ``Store/Error/corrupt(_:)`` if some break a rule; those before them are added then.
  public func addVersions(of other: Store) throws {
    let known = Set(queryHistory { $0.allVersionIdentifiers })
    let missing = try other.backend.versionIDs(missingAmong: known).map { id in
      (id: id, size: try other.backend.version(id)?.valueDataSize)
    }
    defer { noteNewVersions() }
    for batch in VersionBatches(missing, size: \.size) {
      let versions = try batch.compactMap { id, _ -> VersionChanges? in
        guard let version = try other.backend.version(id) else { return nil }
        return (version, try other.backend.changesToSend(of: id))
      }
      if let fault = try backend.add(versions).first {
        throw Error.corrupt("the version \(fault.key.rawValue) cannot be added: \(fault.value)")
      }
    }
  }
}

/// A directory for files that are needed for a while; it goes with the last use of the object.
final class ScratchDirectory: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("llvs-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit {
    // A file that cannot be removed stays in the directory for temporary files, which the system clears.
    try? FileManager.default.removeItem(at: url)
  }
}
