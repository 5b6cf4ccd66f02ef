import LLVSCore
import Platform

/// What each epoch of the live tree stands for: the version that its changes are made on.
///
/// Epochs are numbered from 1 on without end, one for each version made or merged in, but those that stand
/// for one version are neighbours, and a version that only takes what was pending becomes what all who had
/// seen the head have seen. So they are kept as runs: one, as long as nothing from elsewhere is merged in.
///
/// - Complexity: O(log *r*) for *r* runs to find one or to add the newest, O(*r*) to change others.
struct Epochs: Hashable, Sendable {
  /// Epochs from the first on, up to the next run's first.
  private struct Run: Hashable {
    var first: UInt64
    var version: VersionNumber?
  }

  /// Runs beyond this are forgotten, the oldest first.
  private static let limit = 10_000
  private var runs: [Run] = []
  /// The newest epoch.
  private(set) var last: UInt64 = 0

  init() {}

  /// With epoch 1.
  init(first: VersionNumber?) { begin(1, first) }

  var runCount: Int { runs.count }

  /// The version that an epoch stands for, which for one that is forgotten is that of the oldest known; nil
  /// for one that never began.
  subscript(epoch: UInt64) -> VersionNumber?? {
    guard epoch <= last, let index = index(of: epoch) else { return nil }
    return .some(runs[index].version)
  }

  /// The run that an epoch is in, or the oldest.
  private func index(of epoch: UInt64) -> Int? {
    runs.isEmpty ? nil : max(runs.partitioningIndex { $0.first > epoch }, 1) - 1
  }

  /// Begins an epoch, if it is newer than all; those left out in between belong to the one before.
  mutating func begin(_ epoch: UInt64, _ version: VersionNumber?) {
    guard epoch > last else { return }
    last = epoch
    if let run = runs.last, run.version == version { return }
    runs.append(Run(first: epoch, version: version))
    // Half at a time, so that a version costs no more for it.
    if runs.count > Self.limit { runs.removeFirst(Self.limit / 2) }
  }

  /// Says what an epoch stands for, which begins with that if it is new.
  mutating func set(_ epoch: UInt64, _ version: VersionNumber?) {
    guard epoch <= last else { return begin(epoch, version) }
    guard let index = index(of: epoch), runs[index].version != version else { return }
    let before = runs[index]
    let end = index + 1 < runs.count ? runs[index + 1].first : last + 1
    var parts = [Run(first: epoch, version: version)]
    if before.first < epoch { parts.insert(before, at: 0) }
    if epoch + 1 < end { parts.append(Run(first: epoch + 1, version: before.version)) }
    runs.replaceSubrange(index...index, with: parts)
    join()
  }

  /// Who has seen one version, in an epoch from `first` on, has seen another now.
  ///
  /// A run is of one mind: where `first` stands in one, all of it stays as it is.
  mutating func replace(
    _ version: VersionNumber?, with other: VersionNumber?, from first: UInt64 = 0
  ) {
    guard version != other else { return }
    var isChanged = false
    for index in runs.indices where runs[index].version == version && runs[index].first >= first {
      runs[index].version = other
      isChanged = true
    }
    if isChanged { join() }
  }

  /// Puts another version in place of all with greater numbers; false where there are none.
  mutating func replace(after last: VersionNumber, with other: VersionNumber?) -> Bool {
    var isChanged = false
    for index in runs.indices where (runs[index].version?.rawValue ?? 0) > last.rawValue {
      runs[index].version = other
      isChanged = true
    }
    if isChanged { join() }
    return isChanged
  }

  private mutating func join() {
    var joined: [Run] = []
    joined.reserveCapacity(runs.count)
    for run in runs where joined.last?.version != run.version || joined.isEmpty {
      joined.append(run)
    }
    runs = joined
  }

  /// What makes the same again, given to ``begin(_:_:)`` in this order.
  var beginnings: [(epoch: UInt64, version: VersionNumber?)] {
    var all = runs.map { (epoch: $0.first, version: $0.version) }
    if let newest = runs.last, newest.first < last { all.append((last, newest.version)) }
    return all
  }
}
