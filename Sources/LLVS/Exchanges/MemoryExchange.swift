internal import Synchronization

/// Exchanges through memory: stores that use one ``MemoryExchange/Place`` get each other's versions.
public final class MemoryExchange: Exchange, Sendable {
  public final class Place: Sendable {
    fileprivate struct Contents: Sendable {
      var versions: [Version.ID: Version] = [:]
      var changes: [Version.ID: [Value.Change]] = [:]
    }

    // A leaf lock.
    fileprivate let contents = Mutex(Contents())
    fileprivate let changes = Broadcast<Void>()

    public init() {}
  }

  public let store: Store
  public let place: Place

  public init(store: Store, place: Place = Place()) {
    self.store = store
    self.place = place
  }

  public var newVersionsAvailable: AsyncStream<Void> { place.changes.stream() }

  public func retrieveAllVersionIdentifiers() async throws -> [Version.ID] {
    place.contents.withLock { Array($0.versions.keys) }
  }

  public func retrieveVersions(identifiedBy versionIds: [Version.ID]) async throws -> [Version] {
    place.contents.withLock { contents in versionIds.compactMap { contents.versions[$0] } }
  }

  public func retrieveValueChanges(
    forVersionsIdentifiedBy versionIds: [Version.ID]
  ) async throws -> [Version.ID: [Value.Change]] {
    let wanted = Set(versionIds)
    return place.contents.withLock { $0.changes.filter { wanted.contains($0.key) } }
  }

  public func send(versionChanges: [VersionChanges]) async throws {
    place.contents.withLock { contents in
      for (version, changes) in versionChanges {
        contents.versions[version.id] = version
        contents.changes[version.id] = changes
      }
    }
    place.changes.yield(())
  }
}
