public import Foundation

/// Decides when a snapshot of a store is made after an exchange.
public struct SnapshotPolicy: Hashable, Sendable {
  /// True if snapshots are made.
  public var enabled: Bool
  /// The seconds that must have passed since the last one.
  public var minimumInterval: TimeInterval
  /// The versions that must have come since the last one.
  public var minimumNewVersions: Int

  /// Creates a policy.
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
