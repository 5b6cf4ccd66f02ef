public import Foundation

/// A snapshot in a folder: `snapshots/manifest.json`, and parts in `snapshots/ID` or next to it.
extension FileSystemExchange: SnapshotExchange {
  private var manifestFile: URL { snapshotsDirectory.appendingPathComponent("manifest.json") }

  public func retrieveSnapshotManifest() async throws -> SnapshotManifest? {
    guard FileManager.default.fileExists(atPath: manifestFile.path) else { return nil }
    return try JSONDecoder().decode(
      SnapshotManifest.self, from: try Data(contentsOf: manifestFile))
  }

  public func retrieveSnapshotChunk(snapshotId: String, index: Int) async throws -> Data {
    guard SnapshotManifest.isPathSafe(snapshotId) else {
      throw Error.snapshotIdNotPathSafe(snapshotId)
    }
    for name in ["\(snapshotId)/", ""].map({ $0 + SnapshotManifest.chunkName(index) }) {
      let file = snapshotsDirectory.appendingPathComponent(name)
      if FileManager.default.fileExists(atPath: file.path) { return try Data(contentsOf: file) }
    }
    throw Error.snapshotChunkMissing(index)
  }

  public func sendSnapshot(
    manifest: SnapshotManifest, chunkProvider: @escaping @Sendable (Int) throws -> Data
  ) async throws {
    guard manifest.hasPathSafeId else { throw Error.snapshotIdNotPathSafe(manifest.snapshotId) }
    let directory = snapshotsDirectory.appendingPathComponent(manifest.snapshotId)
    for index in 0..<manifest.chunkCount {
      try StoreFile.write(
        try chunkProvider(index),
        to: directory.appendingPathComponent(SnapshotManifest.chunkName(index)))
    }
    try StoreFile.write(try manifest.encoded(), to: manifestFile)
    for name in try FileManager.default.contentsOfDirectory(atPath: snapshotsDirectory.path)
    where name != manifest.snapshotId && name != manifestFile.lastPathComponent {
      try FileManager.default.removeItem(at: snapshotsDirectory.appendingPathComponent(name))
    }
  }
}
