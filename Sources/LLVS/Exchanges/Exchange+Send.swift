internal import LLVSExchange

extension Exchange {
  /// Writes the versions that the store has and the other side lacks, predecessors first, in
  /// batches.
  public func send() async throws -> [Version.ID] { try await sendInBatches() }

  func sendInBatches() async throws -> [Version.ID] {
    try await prepareToSend()
    let known = Set(try await retrieveAllVersionIdentifiers())
    let store = store
    let missing = try await Threads.run { _ in
      try store.backend.versionIDs(missingAmong: known).map { id in
        (id: id, size: try store.backend.version(id)?.valueDataSize)
      }
    }
    for batch in VersionBatches(missing, size: \.size) {
      try Task.checkCancellation()
      let part = try await Threads.run { _ in
        try batch.compactMap { id, _ -> VersionChanges? in
          guard let version = try store.backend.version(id) else { return nil }
          return (version, try store.backend.changesToSend(of: id))
        }
      }
      try await send(versionChanges: part)
    }
    return missing.map(\.id)
  }
}
