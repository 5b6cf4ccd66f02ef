internal import Foundation
public import LLVS
internal import Synchronization

/// Merges values of registered Swift types property by property; another arbiter decides the rest.
///
/// The first version is dominant. A value that cannot be read as its type goes to the fallback arbiter, so that no
/// peer can block merging. Equal merges give equal bytes: JSON with sorted keys.
/// - Concurrency: callable from any thread.
public final class MergeableArbiter: MergeArbiter, Sendable {
  /// Merges dominant, subordinate and ancestor; nil if one cannot be read.
  private typealias Merging = @Sendable (Data, Data, Data?) throws -> Data?

  /// Unchecked: one merge at a time calls an arbiter.
  private struct State: @unchecked Sendable {
    var mergings: [String: Merging] = [:]
    var fallback: any MergeArbiter
  }

  // A leaf lock, not held while a type or an arbiter merges.
  private let state: Mutex<State>

  public init(fallbackArbiter: any MergeArbiter = MostRecentChangeFavoringArbiter()) {
    let first = State(fallback: fallbackArbiter)
    state = Mutex(first)
  }

  /// The arbiter for values of no registered type.
  public var fallbackArbiter: any MergeArbiter {
    get { state.withLock { $0 }.fallback }
    set {
      let new = State(fallback: newValue)
      state.withLock { $0.fallback = new.fallback }
    }
  }

  /// Registers the type of all values whose keys name it, after the last `/` or before the first.
  public func register<T: StorableModel & Mergeable>(_ type: T.Type) {
    let merging: Merging = { dominant, subordinate, ancestor in
      guard let first = Self.read(type, dominant), let second = Self.read(type, subordinate) else {
        return nil
      }
      let merged: T
      if let ancestor {
        guard let base = Self.read(type, ancestor) else { return nil }
        merged = try first.merged(withSubordinate: second, commonAncestor: base)
      } else {
        merged = try first.salvaging(from: second)
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return try encoder.encode(merged)
    }
    state.withLock { $0.mergings[T.modelTypeIdentifier] = merging }
  }

  private static func read<T: Decodable>(_ type: T.Type, _ bytes: Data) -> T? {
    try? JSONDecoder().decode(type, from: bytes)
  }

  /// Merges values that both sides updated; an update wins over a removal.
  /// - Throws: the error of a type's merge, or of the fallback arbiter.
  public func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change] {
    var changes: [Value.Change] = []
    var rest: [Value.ID: Value.Fork] = [:]
    for (id, fork) in merge.forksByValueIdentifier.sorted(by: { $0.key < $1.key })
    where fork.isConflicting {
      if let change = try change(for: id, fork, merge, store) {
        changes.append(change)
      } else {
        rest[id] = fork
      }
    }
    guard !rest.isEmpty else { return changes }
    var others = merge
    others.forksByValueIdentifier = rest
    return changes + (try fallbackArbiter.changes(toResolve: others, in: store))
  }

  private func change(
    for id: Value.ID, _ fork: Value.Fork, _ merge: Merge, _ store: Store
  ) throws -> Value.Change? {
    guard let merging = merging(of: id) else { return nil }
    if case .removedAndUpdated(let removedOn) = fork {
      let version = removedOn == .first ? merge.versions.second : merge.versions.first
      return try store.valueReference(id: id, at: version.id).map { .preserve($0) }
    }
    guard let first = try store.value(id: id, at: merge.versions.first.id),
      let second = try store.value(id: id, at: merge.versions.second.id)
    else { throw Store.Error.unresolvedConflict(valueId: id, valueFork: fork) }
    var ancestor: Data?
    if fork == .twiceUpdated, let version = merge.commonAncestor {
      ancestor = try store.value(id: id, at: version.id)?.data
    }
    guard let bytes = try merging(first.data, second.data, ancestor) else { return nil }
    return .update(Value(id: id, data: bytes))
  }

  private func merging(of id: Value.ID) -> Merging? {
    let names = ModelKey.typeIdentifiers(in: id)
    let known = state.withLock { $0 }.mergings
    return names.lazy.compactMap { known[$0] }.first
  }
}
