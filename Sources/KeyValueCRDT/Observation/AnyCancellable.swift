internal import Synchronization

extension KeyValueDatabase {
  /// Ends a subscription at its cancellation, or with the last reference.
  public final class AnyCancellable: Hashable, Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

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

    public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }
    public static func == (left: AnyCancellable, right: AnyCancellable) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }
}
