internal import Foundation
public import LLVSCore
internal import Synchronization

/// Merges values of registered Swift types property by property; another arbiter decides the rest.
///
/// The first version of a merge is the dominant one. Values are read and written as JSON with
/// sorted keys, so that equal merges give equal bytes. A value that cannot be read as its type goes
/// to the fallback arbiter: a peer that writes such a value must not keep others from merging.
///
/// - Concurrency: callable from any thread.
public final class MergeableArbiter: MergeArbiter, Sendable {
  /// Merges the bytes of the dominant value, the subordinate one and, where there is one, the
  /// common ancestor; nil if one of them cannot be read.
  private typealias Merging = @Sendable ([UInt8], [UInt8], [UInt8]?) throws -> [UInt8]?

  /// The arbiter for values of no registered type.
  public let fallbackArbiter: any MergeArbiter & Sendable
  // A leaf lock, not held while a type merges.
  private let registry = Mutex<[String: Merging]>([:])

  /// Creates an arbiter that knows no types yet.
  public init(
    fallbackArbiter: any MergeArbiter & Sendable = MostRecentChangeFavoringArbiter()
  ) {
    self.fallbackArbiter = fallbackArbiter
  }

  /// Registers a type: values whose key ends with the type's identifier are merged by it.
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
      return Array(try encoder.encode(merged))
    }
    registry.withLock { $0[T.modelTypeIdentifier] = merging }
  }

  private static func read<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) -> T? {
    try? JSONDecoder().decode(type, from: Data(bytes))
  }

  /// Returns a change for each conflicting fork: for a value of a registered type that both sides
  /// updated, an update with the merged value; where one side removed it, the value of the side
  /// that updated it.
  ///
  /// - Throws: the error of a type's merge, or of the fallback arbiter.
  public func changes(toResolve merge: Merge, in store: Store) throws -> [Value.Change] {
    var changes: [Value.Change] = []
    var rest: [Value.ID: Value.Fork] = [:]
    for (id, fork) in merge.conflicts {
      if let change = try change(for: id, fork, merge, store) {
        changes.append(change)
      } else {
        rest[id] = fork
      }
    }
    guard !rest.isEmpty else { return changes }
    let others = Merge(
      commonAncestor: merge.commonAncestor, versions: merge.versions,
      forksByValueIdentifier: rest)
    return changes + (try fallbackArbiter.changes(toResolve: others, in: store))
  }

  private func change(
    for id: Value.ID, _ fork: Value.Fork, _ merge: Merge, _ store: Store
  ) throws -> Value.Change? {
    guard let type = modelTypeIdentifier(from: id),
      let merging = registry.withLock({ $0[type] })
    else { return nil }
    if case .removedAndUpdated(let removedOn) = fork {
      return .preserve(try merge.reference(id, on: removedOn.opposite, in: store))
    }
    guard let first = try store.value(id: id, at: merge.versions.first.id),
      let second = try store.value(id: id, at: merge.versions.second.id)
    else { throw StoreError.unresolvedConflict(id) }
    var ancestor: [UInt8]?
    if fork == .twiceUpdated, let version = merge.commonAncestor {
      ancestor = try store.value(id: id, at: version.id)?.data
    }
    guard let bytes = try merging(first.data, second.data, ancestor) else { return nil }
    return .update(Value(id: id, data: bytes))
  }
}
