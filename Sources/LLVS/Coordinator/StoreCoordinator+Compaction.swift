public import Foundation
internal import Synchronization

/// Decides when a coordinator forgets the bytes of old versions.
public enum CompactionPolicy: Hashable, Sendable, CaseIterable {
  /// When a coordinator is made, and by ``StoreCoordinator/compact(beforeDate:minRetainedVersions:)``.
  case auto
  /// Only by ``StoreCoordinator/compact(beforeDate:minRetainedVersions:)``.
  case manual
  /// Never; ``Store/compact(beforeDate:minRetainedVersions:)`` still does it.
  case none
}

extension StoreCoordinator {
  /// Forgets the bytes of old versions, as ``Store/compact(beforeDate:minRetainedVersions:)`` does; does nothing if
  /// the policy is ``CompactionPolicy/none``.
  /// - Throws: as the method of the store.
  @discardableResult
  public func compact(
    beforeDate: Date = Date(timeIntervalSinceNow: -7 * 24 * 3600), minRetainedVersions: Int = 50
  ) throws -> Version.ID? {
    guard compactionPolicy != .none else { return nil }
    // A save or a merge must not begin at a version that is being forgotten.
    return try saving.withLock { _ in
      try store.compact(beforeDate: beforeDate, minRetainedVersions: minRetainedVersions)
    }
  }

  func compactAtStart() {
    guard compactionPolicy == .auto else { return }
    do {
      try compact()
    } catch {
      log.error("\(storeDirectoryURL.path): old versions cannot be forgotten: \(error)")
    }
  }
}
