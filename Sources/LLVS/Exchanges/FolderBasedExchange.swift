public import Foundation

public enum FolderBasedExchangeError: Error, Sendable {
  case versionFileInvalid
  case fileNotFound(String)
  case foldersNotInitialized
}

/// An exchange through a service that knows files by ids: a folder for descriptions of versions and one for their
/// changes, each with a file for each version, named by the version's id.
public protocol FolderBasedExchange: Exchange {
  associatedtype FileID
  associatedtype FolderID
  var versionsFolderID: FolderID? { get }
  var changesFolderID: FolderID? { get }
  func notifyNewVersionsAvailable()
  /// - Throws: any error, which ends the exchange.
  func listFiles(inFolder folder: FolderID) async throws -> [String: FileID]
  /// - Throws: any error, which ends the exchange.
  func downloadData(forFile fileID: FileID) async throws -> Data
  /// - Throws: any error, which ends the exchange.
  func uploadData(_ data: Data, named name: String, toFolder folder: FolderID) async throws
}

extension FolderBasedExchange {
  public func notifyNewVersionsAvailable() {}

  public func retrieveAllVersionIdentifiers() async throws -> [Version.ID] {
    guard let folder = versionsFolderID else { return [] }
    return try await listFiles(inFolder: folder).keys.filter { !$0.hasPrefix(".") }
      .map { Version.ID($0) }
  }

  public func retrieveVersions(identifiedBy versionIds: [Version.ID]) async throws -> [Version] {
    guard !versionIds.isEmpty, let folder = versionsFolderID else { return [] }
    let files = try await listFiles(inFolder: folder)
    var versions: [Version] = []
    for id in versionIds {
      guard let file = files[id.rawValue] else { continue }
      let data = try await downloadData(forFile: file)
      guard let version = VersionFile.version(in: data, id) else {
        throw FolderBasedExchangeError.versionFileInvalid
      }
      versions.append(version)
    }
    return versions
  }

  public func retrieveValueChanges(
    forVersionsIdentifiedBy versionIds: [Version.ID]
  ) async throws -> [Version.ID: [Value.Change]] {
    guard !versionIds.isEmpty, let folder = changesFolderID else { return [:] }
    let files = try await listFiles(inFolder: folder)
    var changes: [Version.ID: [Value.Change]] = [:]
    for id in versionIds {
      guard let file = files[id.rawValue] else { continue }
      changes[id] = try VersionFile.changes(in: try await downloadData(forFile: file))
    }
    return changes
  }

  public func send(versionChanges: [VersionChanges]) async throws {
    guard !versionChanges.isEmpty else { return }
    guard let versionsFolder = versionsFolderID, let changesFolder = changesFolderID else {
      throw FolderBasedExchangeError.foldersNotInitialized
    }
    for (version, changes) in versionChanges {
      let name = version.id.rawValue
      try await uploadData(
        try VersionFile.data(of: changes), named: name, toFolder: changesFolder)
      try await uploadData(
        try VersionFile.data(of: version), named: name, toFolder: versionsFolder)
    }
    notifyNewVersionsAvailable()
  }
}
