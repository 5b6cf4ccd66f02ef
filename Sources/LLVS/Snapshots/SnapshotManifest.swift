public import Foundation

/// Describes a snapshot: a whole store in a few files, for the start of a new device.
public struct SnapshotManifest: Hashable, Codable, Sendable {
  public var snapshotId: String
  /// The format of the archive: `zip-v1`, `fileStorage-v1` or `sqliteStorage-v1`.
  public var format: String
  public var createdAt: Date
  public var latestVersionId: Version.ID
  public var versionCount: Int
  public var chunkCount: Int
  public var totalSize: Int64
  /// The SHA-256 of the archive in hexadecimal digits; nil for snapshots of the original.
  public var sha256: String?

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
  public var hasPathSafeId: Bool { Self.isPathSafe(snapshotId) }

  private static let safe = Set(
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)

  static func isPathSafe(_ id: String) -> Bool {
    (1...128).contains(id.utf8.count) && id.utf8.allSatisfy(safe.contains)
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

/// An exchange whose other side can keep a snapshot; a type has one of the functions that return a part.
public protocol SnapshotExchange {
  /// - Throws: the error of the exchange.
  func retrieveSnapshotManifest() async throws -> SnapshotManifest?
  /// - Throws: the error of the exchange.
  func retrieveSnapshotChunk(snapshotId: String, index: Int) async throws -> Data
  /// Returns a part of the snapshot that is there now.
  /// - Throws: the error of the exchange.
  func retrieveSnapshotChunk(index: Int) async throws -> Data

  /// Replaces the snapshot; the provider returns the part with an index.
  /// - Throws: the error of the exchange, or of the provider.
  func sendSnapshot(
    manifest: SnapshotManifest, chunkProvider: @escaping @Sendable (Int) throws -> Data
  ) async throws
}

extension SnapshotExchange {
  /// Returns a part of the present snapshot, as an exchange has it that keeps one at a fixed path.
  /// - Throws: the error of the other function.
  public func retrieveSnapshotChunk(snapshotId: String, index: Int) async throws -> Data {
    try await retrieveSnapshotChunk(index: index)
  }

  /// Returns a part of the snapshot that the manifest names.
  /// - Throws: ``FileSystemExchange/Error/snapshotChunkMissing(_:)``; the error of the other functions.
  public func retrieveSnapshotChunk(index: Int) async throws -> Data {
    guard let manifest = try await retrieveSnapshotManifest() else {
      throw FileSystemExchange.Error.snapshotChunkMissing(index)
    }
    return try await retrieveSnapshotChunk(snapshotId: manifest.snapshotId, index: index)
  }
}

/// A storage whose stores can be written into a snapshot and made from one.
public protocol SnapshotCapable {
  var snapshotFormat: String { get }

  /// Writes the parts `chunk-000`, `chunk-001` ... into a directory.
  /// - Throws: ``Store/Error``.
  func writeSnapshotChunks(
    storeRootURL: URL, to directory: URL, maxChunkSize: Int
  ) throws -> SnapshotManifest

  /// Makes the files of a store; existing ones stay.
  /// - Throws: ``Store/Error/corrupt(_:)`` for files that break a rule.
  func restoreFromSnapshotChunks(
    storeRootURL: URL, from directory: URL, manifest: SnapshotManifest
  ) throws
}

extension SnapshotCapable {
  public var snapshotFormat: String { Snapshot.format }

  public func writeSnapshotChunks(
    storeRootURL: URL, to directory: URL, maxChunkSize: Int
  ) throws -> SnapshotManifest {
    try Snapshot.write(storeRootURL, to: directory, maxChunkSize: maxChunkSize)
  }

  public func restoreFromSnapshotChunks(
    storeRootURL: URL, from directory: URL, manifest: SnapshotManifest
  ) throws {
    try Snapshot.restore(manifest, from: directory, to: storeRootURL)
  }
}

extension FileStorage: SnapshotCapable {}
extension SQLiteStorage: SnapshotCapable {}
