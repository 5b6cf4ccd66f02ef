public import Foundation

/// Runs the body in a task, and calls a function with its result on any thread.
private func complete<Value: Sendable>(
  _ completionHandler: @escaping @Sendable (Result<Value, any Error>) -> Void,
  _ body: @escaping () async throws -> Value
) {
  // Unchecked: the caller leaves what the body uses to the task until then.
  nonisolated(unsafe) let body = body
  Task {
    do { completionHandler(.success(try await body())) } catch {
      completionHandler(.failure(error))
    }
  }
}

/// The functions as the original has them before its version 0.10: for callers, not for types of exchange.
extension Exchange {
  @preconcurrency public func retrieve(
    executingUponCompletion handler: @escaping @Sendable (Result<[Version.ID], any Error>) -> Void
  ) { complete(handler) { try await self.retrieve() } }

  @preconcurrency public func prepareToRetrieve(
    executingUponCompletion handler: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { complete(handler) { try await self.prepareToRetrieve() } }

  @preconcurrency public func retrieveAllVersionIdentifiers(
    executingUponCompletion handler: @escaping @Sendable (Result<[Version.ID], any Error>) -> Void
  ) { complete(handler) { try await self.retrieveAllVersionIdentifiers() } }

  @preconcurrency public func retrieveVersions(
    identifiedBy versionIds: [Version.ID],
    executingUponCompletion handler: @escaping @Sendable (Result<[Version], any Error>) -> Void
  ) { complete(handler) { try await self.retrieveVersions(identifiedBy: versionIds) } }

  @preconcurrency public func retrieveValueChanges(
    forVersionsIdentifiedBy versionIds: [Version.ID],
    executingUponCompletion handler:
      @escaping @Sendable (Result<[Version.ID: [Value.Change]], any Error>) -> Void
  ) {
    complete(handler) { try await self.retrieveValueChanges(forVersionsIdentifiedBy: versionIds) }
  }

  @preconcurrency public func send(
    executingUponCompletion handler: @escaping @Sendable (Result<[Version.ID], any Error>) -> Void
  ) { complete(handler) { try await self.send() } }

  @preconcurrency public func prepareToSend(
    executingUponCompletion handler: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { complete(handler) { try await self.prepareToSend() } }

  @preconcurrency public func send(
    versionChanges: [VersionChanges],
    executingUponCompletion handler: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) { complete(handler) { try await self.send(versionChanges: versionChanges) } }
}

extension SnapshotExchange {
  @preconcurrency public func retrieveSnapshotManifest(
    completionHandler handler: @escaping @Sendable (Result<SnapshotManifest?, any Error>) -> Void
  ) { complete(handler) { try await self.retrieveSnapshotManifest() } }

  @preconcurrency public func retrieveSnapshotChunk(
    index: Int,
    completionHandler handler: @escaping @Sendable (Result<Data, any Error>) -> Void
  ) { complete(handler) { try await self.retrieveSnapshotChunk(index: index) } }

  @preconcurrency public func sendSnapshot(
    manifest: SnapshotManifest, chunkProvider: @escaping @Sendable (Int) throws -> Data,
    completionHandler handler: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    complete(handler) {
      try await self.sendSnapshot(manifest: manifest, chunkProvider: chunkProvider)
    }
  }
}
