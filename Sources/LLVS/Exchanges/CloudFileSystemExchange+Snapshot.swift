public import Foundation

/// A snapshot in a cloud file system, with the same paths as in a folder.
extension CloudFileSystemExchange: SnapshotExchange {
  private func path(_ name: String) -> String { "\(basePath)/snapshots/\(name)" }

  public func retrieveSnapshotManifest() async throws -> SnapshotManifest? {
    let data: Data
    do {
      data = try await cloudFileSystem.download(from: path("manifest.json"))
    } catch CloudFileSystemError.fileNotFound {
      return nil
    }
    return try JSONDecoder().decode(SnapshotManifest.self, from: data)
  }

  public func retrieveSnapshotChunk(snapshotId: String, index: Int) async throws -> Data {
    guard SnapshotManifest.isPathSafe(snapshotId) else {
      throw Error.snapshotIdNotPathSafe(snapshotId)
    }
    for name in ["\(snapshotId)/", ""].map({ $0 + SnapshotManifest.chunkName(index) }) {
      do {
        return try await cloudFileSystem.download(from: path(name))
      } catch CloudFileSystemError.fileNotFound {}
    }
    throw Error.snapshotChunkMissing(index)
  }

  public func sendSnapshot(
    manifest: SnapshotManifest, chunkProvider: @escaping @Sendable (Int) throws -> Data
  ) async throws {
    guard manifest.hasPathSafeId else { throw Error.snapshotIdNotPathSafe(manifest.snapshotId) }
    let before = try await retrieveSnapshotManifest()
    for index in 0..<manifest.chunkCount {
      try await cloudFileSystem.upload(
        data: try chunkProvider(index),
        to: path("\(manifest.snapshotId)/\(SnapshotManifest.chunkName(index))"))
    }
    try await cloudFileSystem.upload(
      data: try manifest.encoded(), to: path("manifest.json"))
    if let before, before.hasPathSafeId, before.snapshotId != manifest.snapshotId {
      try await cloudFileSystem.removeDirectory(at: path(before.snapshotId))
    }
  }
}
