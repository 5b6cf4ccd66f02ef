public import Foundation

/// Decides when a snapshot of a store is made after an exchange.
public struct SnapshotPolicy: Hashable, Sendable {
  public var enabled: Bool
  public var minimumInterval: TimeInterval
  public var minimumNewVersions: Int

  public init(enabled: Bool, minimumInterval: TimeInterval, minimumNewVersions: Int) {
    self.enabled = enabled
    self.minimumInterval = minimumInterval
    self.minimumNewVersions = minimumNewVersions
  }

  /// After a week with at least 20 new versions.
  public static let auto = SnapshotPolicy(
    enabled: true, minimumInterval: 7 * 24 * 3600, minimumNewVersions: 20)

  public static let disabled = SnapshotPolicy(
    enabled: false, minimumInterval: 0, minimumNewVersions: 0)
}
