public import Foundation
internal import LLVSCore
internal import LLVSExchange

/// Exchanges a store's versions through a folder: `versions/ID` describes a version, `changes/ID` lists its
/// changes. The folder is not trusted, and its files are never rewritten.
/// - Concurrency: callable from any thread.
public final class FileSystemExchange: Exchange, Sendable {
  public enum Error: Swift.Error, Hashable, Sendable {
    case versionFileInvalid
    case changesFileInvalid
    case snapshotChunkMissing(Int)
    case snapshotIdNotPathSafe(String)
  }

  public let store: Store
  public let rootDirectoryURL: URL
  /// Without effect here.
  public let usesFileCoordination: Bool
  public var versionsDirectory: URL { below("versions") }
  public var changesDirectory: URL { below("changes") }
  public var snapshotsDirectory: URL { below("snapshots") }

  private func below(_ name: String) -> URL {
    rootDirectoryURL.appendingPathComponent(name, isDirectory: true)
  }

  /// Prepares an exchange through a folder, made if missing; later calls report errors.
  public init(rootDirectoryURL: URL, store: Store, usesFileCoordination: Bool = false) {
    self.rootDirectoryURL = rootDirectoryURL
    self.store = store
    self.usesFileCoordination = usesFileCoordination
    guard rootDirectoryURL.isFileURL else { return }
    for directory in [versionsDirectory, changesDirectory] {
      try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }
  }

  /// Yields when the folder has changed; it is checked once a second while a caller waits.
  public var newVersionsAvailable: AsyncStream<Void> {
    let directory = versionsDirectory
    return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task {
        var last = FileSystemExchange.changeDate(of: directory)
        while (try? await Task.sleep(for: .seconds(1))) != nil {
          let date = FileSystemExchange.changeDate(of: directory)
          if date != last { continuation.yield() }
          last = date
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private static func changeDate(of directory: URL) -> Date? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: directory.path)
    return attributes?[.modificationDate] as? Date
  }

  private func check() throws {
    guard rootDirectoryURL.isFileURL else {
      throw Store.Error.invalid("\(rootDirectoryURL.absoluteString) is not the URL of a file")
    }
    guard FileManager.default.fileExists(atPath: rootDirectoryURL.path) else {
      throw Store.Error.unreachable("\(rootDirectoryURL.path) is not there")
    }
  }

  public func retrieve() async throws -> [Version.ID] {
    try check()
    guard let engine = store.backend as? EngineBackend else {
      return try await retrieveInBatches()
    }
    let folder = rootDirectoryURL.path
    let (outcome, ids) = try await Threads.run { control in
      try engine.retrieve(fromFolder: folder, control)
    }
    store.noteNewVersions()
    return outcome.noted(among: ids)
  }

  /// Writes the versions that the store has and the folder lacks.
  /// - Throws: ``Store/Error/corrupt(_:)`` for versions that are damaged here; the others are written.
  public func send() async throws -> [Version.ID] {
    try check()
    guard let engine = store.backend as? EngineBackend else { return try await sendInBatches() }
    let folder = rootDirectoryURL.path
    return try await Threads.run { control in try engine.send(toFolder: folder, control) }
  }

  public func retrieveAllVersionIdentifiers() async throws -> [Version.ID] {
    try remote().versionIDs().map { Version.ID($0) }
  }

  public func retrieveVersions(identifiedBy versionIds: [Version.ID]) async throws -> [Version] {
    let remote = try remote()
    return try versionIds.compactMap { id in
      try sound { try remote.version(id.core).map { Version($0) } }
    }
  }

  public func retrieveValueChanges(
    forVersionsIdentifiedBy versionIds: [Version.ID]
  ) async throws -> [Version.ID: [Value.Change]] {
    let remote = try remote()
    var changes: [Version.ID: [Value.Change]] = [:]
    for id in versionIds {
      changes[id] = try sound {
        try remote.changes(of: id.core).map { try [Value.Change](reading: $0, of: id) }
      }
    }
    return changes
  }

  private func sound<Result>(_ body: () throws -> Result?) throws -> Result? {
    do {
      return try translated(body)
    } catch Store.Error.invalid(let reason) {
      log.warning("\(rootDirectoryURL.path): \(reason)")
      return nil
    }
  }

  public func send(versionChanges: [VersionChanges]) async throws {
    let remote = try remote()
    try translated {
      for (version, changes) in versionChanges {
        let core = version.core
        try remote.write(.changes, core.id) { (output) throws(StoreError) in
          try output.write(changes, of: core.id)
        }
        try remote.write(.version, core.id) { (output) throws(StoreError) in
          try core.write(to: output)
        }
      }
      try remote.publish(versionChanges.map { $0.version.id.core })
      remote.abandon()
    }
  }

  private func remote() throws -> VersionObjects {
    try check()
    return VersionObjects(directory: rootDirectoryURL.path, replica: UUID().uuidString)
  }
}
