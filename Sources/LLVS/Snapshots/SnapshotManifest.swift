public import Foundation

/// Describes a snapshot: a whole store in a few files, for the start of a new device.
public struct SnapshotManifest: Hashable, Codable, Sendable {
  /// Names the snapshot.
  public var snapshotId: String
  /// The format of the archive: `zip-v1`, `fileStorage-v1` or `sqliteStorage-v1`.
  public var format: String
  /// The time of its creation.
  public var createdAt: Date
  /// The newest version in it.
  public var latestVersionId: Version.ID
  /// The number of versions in it.
  public var versionCount: Int
  /// The number of parts of the archive.
  public var chunkCount: Int
  /// The bytes of the archive.
  public var totalSize: Int64
  /// The SHA-256 of the archive in hexadecimal digits; nil for snapshots of the original.
  public var sha256: String?

  /// Describes a snapshot.
  public init(
    snapshotId: String = UUID().uuidString, format: String, createdAt: Date = Date(),
    latestVersionId: Version.ID, versionCount: Int, chunkCount: Int, totalSize: Int64,
    sha256: String? = nil
  ) {
    self.snapshotId = snapshotId
    self.format = format
    self.createdAt = createdAt
    self.latestVersionId = latestVersionId
    self.versionCount = versionCount
    self.chunkCount = chunkCount
    self.totalSize = totalSize
    self.sha256 = sha256
  }

  /// True if the id can be a part of a path: 1 to 128 ASCII letters, digits, `-` and `_`.
  public var hasPathSafeId: Bool {
    let bytes = snapshotId.utf8
    return (1...128).contains(bytes.count)
      && bytes.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
          || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      }
  }

  func encoded() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(self)
  }

  static func chunkName(_ index: Int) -> String {
    let digits = "\(index)"
    return "chunk-" + String(repeating: "0", count: max(0, 3 - digits.utf8.count)) + digits
  }
}

/// An exchange whose other side can keep a snapshot.
public protocol SnapshotExchange {
  func retrieveSnapshotManifest() async throws -> SnapshotManifest?
  /// Returns a part of the snapshot that was described last.
  func retrieveSnapshotChunk(index: Int) async throws -> Data

  /// Replaces the snapshot; the provider returns the part with an index.
  func sendSnapshot(
    manifest: SnapshotManifest, chunkProvider: @escaping @Sendable (Int) throws -> Data
  ) async throws
}

/// A storage whose stores can be written into a snapshot and made from one.
public protocol SnapshotCapable {
  var snapshotFormat: String { get }

  /// Writes the parts `chunk-000`, `chunk-001` ... into a directory.
  func writeSnapshotChunks(
    storeRootURL: URL, to directory: URL, maxChunkSize: Int
  ) throws -> SnapshotManifest

  /// Makes the files of a store; existing ones stay.
  func restoreFromSnapshotChunks(
    storeRootURL: URL, from directory: URL, manifest: SnapshotManifest
  ) throws
}

extension SnapshotCapable {
  /// `zip-v1`.
  public var snapshotFormat: String { Snapshot.format }

  /// Writes the parts of a snapshot.
  public func writeSnapshotChunks(
    storeRootURL: URL, to directory: URL, maxChunkSize: Int
  ) throws -> SnapshotManifest {
    try Snapshot.write(storeRootURL, to: directory, maxChunkSize: maxChunkSize)
  }

  /// Makes the files of a store.
  public func restoreFromSnapshotChunks(
    storeRootURL: URL, from directory: URL, manifest: SnapshotManifest
  ) throws {
    try Snapshot.restore(manifest, from: directory, to: storeRootURL)
  }
}

extension FileStorage: SnapshotCapable {}
extension SQLiteStorage: SnapshotCapable {}
