internal import Synchronization

/// Ends a subscription at its cancellation, or with the last reference.
public final class AnyCancellable: Hashable, Sendable {
  private let end: Mutex<(@Sendable () -> Void)?>

  /// Runs a body at the first cancellation.
  public init(_ cancel: @escaping @Sendable () -> Void) { end = Mutex(cancel) }

  deinit { cancel() }

  /// Ends the subscription: nothing is delivered afterwards, except an element that is being delivered now.
  public func cancel() {
    let end = self.end.withLock { end in
      defer { end = nil }
      return end
    }
    end?()
  }

  /// Keeps the subscription in a set.
  public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }

  /// True if both are the same object.
  public static func == (left: AnyCancellable, right: AnyCancellable) -> Bool { left === right }
  /// Hashes the object's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
