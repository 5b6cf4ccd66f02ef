/// Exchanges a store's versions through a cloud file system, in the files of ``FileSystemExchange``.
public final class CloudFileSystemExchange: Exchange, Sendable {
  public typealias Error = FileSystemExchange.Error
  public let store: Store
  public let cloudFileSystem: any CloudFileSystem
  /// The path of the files' directory, different for each store.
  public let basePath: String

  public init(cloudFileSystem: any CloudFileSystem, store: Store, basePath: String = "") {
    self.cloudFileSystem = cloudFileSystem
    self.store = store
    self.basePath = basePath
  }

  private func path(_ directory: String, _ id: Version.ID) -> String {
    "\(basePath)/\(directory)/\(id.rawValue)"
  }

  private func names(in directory: String) async throws -> [String] {
    do {
      return try await cloudFileSystem.contentsOfDirectory(at: "\(basePath)/\(directory)")
    } catch CloudFileSystemError.fileNotFound, CloudFileSystemError.directoryListingFailed {
      return []
    }
  }

  public func retrieveAllVersionIdentifiers() async throws -> [Version.ID] {
    let changes = Set(try await names(in: "changes"))
    return try await names(in: "versions")
      .filter { !$0.hasPrefix(".") && !$0.contains("/") && changes.contains($0) }
      .map { Version.ID($0) }
  }

  public func retrieveVersions(identifiedBy versionIds: [Version.ID]) async throws -> [Version] {
    var versions: [Version] = []
    for id in versionIds {
      let data = try await cloudFileSystem.download(from: path("versions", id))
      guard let version = VersionFile.version(in: data, id) else {
        throw Error.versionFileInvalid
      }
      versions.append(version)
    }
    return versions
  }

  public func retrieveValueChanges(
    forVersionsIdentifiedBy versionIds: [Version.ID]
  ) async throws -> [Version.ID: [Value.Change]] {
    var changes: [Version.ID: [Value.Change]] = [:]
    for id in versionIds {
      let data = try await cloudFileSystem.download(from: path("changes", id))
      guard let list = try? VersionFile.changes(in: data) else { throw Error.changesFileInvalid }
      changes[id] = list
    }
    return changes
  }

  public func send(versionChanges: [VersionChanges]) async throws {
    for (version, changes) in versionChanges {
      try await cloudFileSystem.upload(
        data: try VersionFile.data(of: changes), to: path("changes", version.id))
      try await cloudFileSystem.upload(
        data: try VersionFile.data(of: version), to: path("versions", version.id))
    }
  }
}
