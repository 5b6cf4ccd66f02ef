public import LLVS

extension Projector {
  /// Keeps the tables at a coordinator's current version until the task is cancelled.
  ///
  /// A failed update is repeated with the next version.
  public func follow(
    _ coordinator: StoreCoordinator, isolation: isolated (any Actor)? = #isolation,
    onResult: @escaping @Sendable (ProjectionResult) -> Void
  ) async {
    for await version in coordinator.currentVersionUpdates {
      do {
        onResult(try update(to: version))
      } catch {
        log.error("The tables cannot be brought to version \(version.rawValue): \(error)")
      }
    }
  }
}
