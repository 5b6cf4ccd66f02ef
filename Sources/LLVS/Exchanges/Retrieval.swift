internal import Synchronization

public struct Retrieval: Hashable, Sendable {
  public internal(set) var taken: [Version.ID] = []
  /// The versions that were left out, with the reasons; the next retrieval tries them again.
  public internal(set) var refused: [Version.ID: Store.Error] = [:]

  /// The place for the outcome of ``Exchange/retrieve()`` within ``Exchange/retrieval()``.
  @TaskLocal static var outcome: Outcome?

  final class Outcome: Sendable {
    // A leaf lock.
    let value = Mutex(Retrieval())
  }

  /// Notes the outcome, and returns those of the other side's versions that the store has.
  func noted(among remote: [Version.ID]) -> [Version.ID] {
    Self.outcome?.value.withLock { $0 = self }
    for (id, fault) in refused { log.error("The version \(id.rawValue) was left out: \(fault)") }
    return remote.filter { refused[$0] == nil }
  }
}

extension Exchange {
  /// Does the same as ``retrieve()``, and returns which versions are new and which were left out.
  /// - Throws: as ``retrieve()``.
  public func retrieval() async throws -> Retrieval {
    let outcome = Retrieval.Outcome()
    _ = try await Retrieval.$outcome.withValue(outcome) { try await retrieve() }
    return outcome.value.withLock { $0 }
  }
}
