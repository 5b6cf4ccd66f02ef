public import LLVS

extension Projector {
  /// Keeps the tables at the current version of a coordinator, until the task is cancelled.
  ///
  /// A version whose update fails is tried again with the next one.
  ///
  /// - Parameters:
  ///   - coordinator: the coordinator of the store.
  ///   - isolation: the actor that the projector is used on.
  ///   - onResult: called after each update.
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
