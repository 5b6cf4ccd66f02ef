internal import Synchronization

/// A property that any thread may read and write; copies of the wrapper share the value.
@propertyWrapper
public struct Atomic<Value: Sendable>: Sendable {
  private final class Storage: Sendable {
    // A leaf lock.
    let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }
  }

  private let storage: Storage

  public init(wrappedValue: Value) { storage = Storage(wrappedValue) }

  public var wrappedValue: Value {
    get { storage.value.withLock { $0 } }
    nonmutating set { storage.value.withLock { $0 = newValue } }
  }
}

/// The original's name for ``Atomic`` since its version 0.11.
public typealias Guarded = Atomic
