public import Foundation

/// A snapshot in a folder: `snapshots/manifest.json`, and parts in `snapshots/ID` or next to it.
extension FileSystemExchange: SnapshotExchange {
  private var snapshots: URL {
    rootDirectoryURL.appendingPathComponent("snapshots", isDirectory: true)
  }

  private var manifestFile: URL { snapshots.appendingPathComponent("manifest.json") }

  /// Returns the description of the folder's snapshot; nil if there is none.
  public func retrieveSnapshotManifest() async throws -> SnapshotManifest? {
    guard FileManager.default.fileExists(atPath: manifestFile.path) else { return nil }
    return try JSONDecoder().decode(
      SnapshotManifest.self, from: try Data(contentsOf: manifestFile))
  }

  /// Returns a part of the folder's snapshot.
  public func retrieveSnapshotChunk(index: Int) async throws -> Data {
    let name = SnapshotManifest.chunkName(index)
    if let manifest = try await retrieveSnapshotManifest(), manifest.hasPathSafeId {
      let file = snapshots.appendingPathComponent(manifest.snapshotId).appendingPathComponent(name)
      if FileManager.default.fileExists(atPath: file.path) { return try Data(contentsOf: file) }
    }
    return try Data(contentsOf: snapshots.appendingPathComponent(name))
  }

  /// Writes a snapshot, first its parts, then its description, and removes the previous one.
  public func sendSnapshot(
    manifest: SnapshotManifest, chunkProvider: @escaping @Sendable (Int) throws -> Data
  ) async throws {
    guard manifest.hasPathSafeId else {
      throw Store.Error.invalid("the id \(manifest.snapshotId) cannot be part of a path")
    }
    let directory = snapshots.appendingPathComponent(manifest.snapshotId, isDirectory: true)
    for index in 0..<manifest.chunkCount {
      try StoreFile.write(
        try chunkProvider(index),
        to: directory.appendingPathComponent(SnapshotManifest.chunkName(index)))
    }
    try StoreFile.write(try manifest.encoded(), to: manifestFile)
    for name in try FileManager.default.contentsOfDirectory(atPath: snapshots.path)
    where name != manifest.snapshotId && name != manifestFile.lastPathComponent {
      try FileManager.default.removeItem(at: snapshots.appendingPathComponent(name))
    }
  }
}
