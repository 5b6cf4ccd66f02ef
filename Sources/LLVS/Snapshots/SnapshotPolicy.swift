public import Foundation

/// Decides when a snapshot of a store is made after an exchange.
public struct SnapshotPolicy: Hashable, Sendable {
  /// True if snapshots are made.
  public var enabled: Bool
  /// The least time since the last snapshot, in seconds.
  public var minimumInterval: TimeInterval
  /// The least number of new versions since the last snapshot.
  public var minimumNewVersions: Int

  /// Sets all properties.
  public init(enabled: Bool, minimumInterval: TimeInterval, minimumNewVersions: Int) {
    self.enabled = enabled
    self.minimumInterval = minimumInterval
    self.minimumNewVersions = minimumNewVersions
  }

  /// After a week with at least 20 new versions.
  public static let auto = SnapshotPolicy(
    enabled: true, minimumInterval: 7 * 24 * 3600, minimumNewVersions: 20)

  /// Never.
  public static let disabled = SnapshotPolicy(
    enabled: false, minimumInterval: 0, minimumNewVersions: 0)
}
