internal import Foundation
internal import LLVSExchange

extension StoreCoordinator {
  private static let chunkSize = 5_000_000

  /// Imports the snapshot at the other side of the ``exchange``; its newest version becomes the current one.
  /// Does nothing if the store has versions other than the first, or if there is no snapshot in a known format.
  /// - Returns: true if the store now has the versions of a snapshot.
  /// - Throws: ``Store/Error/corrupt(_:)``, the error of the exchange. Nothing is stored then.
  @discardableResult
  public func bootstrapFromSnapshot() async throws -> Bool {
    guard let exchange = exchange as? any SnapshotExchange,
      store.queryHistory(in: { $0.allVersionIdentifiers.count }) <= 1,
      let manifest = try await exchange.retrieveSnapshotManifest(), Snapshot.reads(manifest.format)
    else { return false }
    guard manifest.hasPathSafeId else {
      throw Store.Error.corrupt("the snapshot has an id that cannot be part of a path")
    }
    try Snapshot.check(manifest)
    let scratch = try ScratchDirectory()
    var size: Int64 = 0
    for index in 0..<manifest.chunkCount {
      let chunk = try await exchange.retrieveSnapshotChunk(
        snapshotId: manifest.snapshotId, index: index)
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
    // The store's own empty first version may be newer.
    let latest = manifest.latestVersionId
    if let start = try store.version(identifiedBy: latest)?.id ?? store.mostRecentHead?.id {
      move(to: start)
    }
    return true
  }

  /// Does the same in a task; the function gets the error or nil, on any thread.
  @preconcurrency
  public func bootstrapFromSnapshot(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    Task {
      do {
        try await bootstrapFromSnapshot()
        completionHandler(nil)
      } catch {
        completionHandler(error)
      }
    }
  }

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
  /// Adds the versions that this store lacks, after the checks of an exchange.
  /// - Throws: ``Store/Error/corrupt(_:)`` if some break a rule; earlier ones are then already added.
  public func addVersions(of other: Store) throws {
    let known = Set(queryHistory { $0.allVersionIdentifiers })
    let missing = try other.backend.sizesToSend(missingAmong: known)
    defer { noteNewVersions() }
    for batch in VersionBatches(missing, size: \.size) {
      let versions = try batch.compactMap { try other.backend.versionToSend($0.id) }
      if let fault = try backend.add(versions).first {
        throw Error.corrupt("the version \(fault.key.rawValue) cannot be added: \(fault.value)")
      }
    }
  }
}

final class ScratchDirectory: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("llvs-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit {
    // If this fails, the system clears the directory for temporary files.
    try? FileManager.default.removeItem(at: url)
  }
}
