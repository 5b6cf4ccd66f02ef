extension Exchange where Self: Sendable {
  /// Retrieves, and calls a function at the end, on any thread.
  public func retrieve(
    executingUponCompletion completionHandler:
      @escaping @Sendable (Result<[Version.ID], any Error>) -> Void
  ) {
    Task { completionHandler(await outcome { try await self.retrieve() }) }
  }

  /// Sends, and calls a function at the end, on any thread.
  public func send(
    executingUponCompletion completionHandler:
      @escaping @Sendable (Result<[Version.ID], any Error>) -> Void
  ) {
    Task { completionHandler(await outcome { try await self.send() }) }
  }

  private func outcome(
    _ body: () async throws -> [Version.ID]
  ) async -> Result<[Version.ID], any Error> {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
