internal import Synchronization

/// A value that an arbiter needs and whose bytes this store has forgotten or never got.
package struct LackedValue: Hashable, Sendable {
  package let key: Key
  /// The version that stored the value.
  package let version: VersionNumber
  package let digest: Digest
  package let length: UInt64

  package init(_ entry: Entry) {
    (key, version) = (entry.key, entry.storedVersion)
    (digest, length) = (entry.stored.digest, entry.stored.length)
  }
}

/// The bytes that a merge needs and this store lacks. One attempt at the merge finds out which, the caller gets them
/// elsewhere, and the next attempt uses them (docs/merging.md, M16).
/// - Concurrency: any thread; the lock is a leaf.
package final class LackedBytes: Sendable {
  /// The most bytes that are supplied to one merge.
  package static let limit = 64 << 20

  private struct State {
    var supplied: [Digest: [UInt8]] = [:]
    var length = 0
    var wanted: [Digest: LackedValue] = [:]
    var abandoned: Set<Digest> = []
    var missed: Set<Key> = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Returns the supplied bytes of a value; nil without them, and then the value is wanted.
  package func bytes(of entry: Entry) -> [UInt8]? {
    state.withLock { state in
      let value = LackedValue(entry)
      if let known = state.supplied[value.digest] { return known }
      if state.abandoned.contains(value.digest) {
        state.missed.insert(value.key)
      } else {
        state.wanted[value.digest] = value
      }
      return nil
    }
  }

  /// Throws if the attempt needs bytes that were not supplied, so that its transaction ends without a merge.
  package func check() throws(StoreError) {
    guard let key = state.withLock({ $0.wanted.values.map(\.key).min() }) else { return }
    throw .forgotten("\(key.rawValue): a merge needs bytes that this store has forgotten")
  }

  /// Returns the wanted values in order of keys, and forgets that they are wanted, for the next attempt.
  package func takeWanted() -> [LackedValue] {
    state.withLock { state in
      defer { state.wanted = [:] }
      return state.wanted.values.sorted { a, b in
        a.key == b.key ? a.version.rawValue < b.version.rawValue : a.key < b.key
      }
    }
  }

  /// Supplies bytes. Those beyond ``limit`` are dropped, and the merge does without them.
  package func supply(_ bytes: [UInt8], for digest: Digest) {
    state.withLock { state in
      guard bytes.count <= Self.limit - state.length else {
        state.abandoned.insert(digest)
        return
      }
      if state.supplied.updateValue(bytes, forKey: digest) == nil { state.length += bytes.count }
    }
  }

  /// Lets the merge go on without the bytes of values.
  package func abandon(_ values: [LackedValue]) {
    state.withLock { $0.abandoned.formUnion(values.map(\.digest)) }
  }

  /// The keys whose arbiter decided without bytes that it needed, in order.
  package var missed: [Key] { state.withLock { $0.missed.sorted() } }
}
