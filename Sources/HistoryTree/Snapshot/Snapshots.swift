import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

final class Snapshot: Sendable {
  let record: VersionRecord
  let view: TreeView

  init(record: VersionRecord, map: ValueMap) {
    self.record = record
    view = TreeView(map: map)
  }
}

/// The recently used versions.
/// - Concurrency: any thread; a leaf lock, not held while the store reads.
final class Snapshots: Sendable {
  private static let limit = 256
  private static let timeLimit = 65_536
  private let store: Store
  private let known = Mutex<[VersionNumber: Snapshot]>([:])
  private let times = Mutex<[VersionNumber: Attributes.Time]>([:])

  init(store: Store) { self.store = store }

  /// - Throws: ``FSError/stale`` if the version no longer exists.
  func snapshot(_ number: VersionNumber) throws(FSError) -> Snapshot {
    if let found = known.withLock({ $0[number] }) { return found }
    let record = try FSError.translating(try store.version(number))
    guard let record else { throw .stale }
    return remember(record)
  }

  @discardableResult
  func remember(_ record: VersionRecord) -> Snapshot {
    let snapshot = Snapshot(record: record, map: store.map(of: record))
    return known.withLock { known in
      if let found = known[record.number] { return found }
      if known.count >= Self.limit { known = [:] }
      known[record.number] = snapshot
      return snapshot
    }
  }

  /// Returns the time of a version, for files without a recorded time.
  func time(of number: VersionNumber) throws(FSError) -> Attributes.Time {
    if let found = times.withLock({ $0[number] }) { return found }
    let node = try FSError.translating(try store.graph.node(number))
    let time = Attributes.Time(ofVersion: node.timestamp)
    times.withLock { times in
      if times.count >= Self.timeLimit { times = [:] }
      times[number] = time
    }
    return time
  }
}
