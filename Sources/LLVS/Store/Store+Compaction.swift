public import Foundation

extension Store {
  /// Forgets the bytes of old versions in this store alone, and frees their space.
  ///
  /// These versions keep their bytes: those from the date on, the newest `minRetainedVersions`, heads, the current
  /// version of this object's coordinator, tags, and what merges of heads and open conflicts need. All other versions
  /// stay in history with the references of their values. Reading a forgotten value throws
  /// ``Store/Error/forgotten(_:)``; values of up to 128 bytes are not forgotten.
  /// - Returns: the oldest version that keeps its bytes; nil if no version was forgotten.
  /// - Throws: ``Store/Error/unsupported(_:)`` for a store in a format of the original; ``Store/Error/invalid(_:)`` if
  ///   the clock is before a version's; the error of a damaged store.
  @discardableResult
  public func compact(
    beforeDate: Date = Date(timeIntervalSinceNow: -7 * 24 * 3600), minRetainedVersions: Int = 50
  ) throws -> Version.ID? {
    try backend.compact(
      before: beforeDate, keeping: minRetainedVersions, current: currentVersion)
  }

  /// The versions whose bytes are forgotten.
  public var compressedVersionIdentifiers: Set<Version.ID> {
    answer(or: []) { try backend.compressedVersionIDs() }
  }

  public func isCompressedVersion(_ versionId: Version.ID) -> Bool {
    compressedVersionIdentifiers.contains(versionId)
  }
}
