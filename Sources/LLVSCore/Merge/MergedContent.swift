/// The merged bytes of two sides.
package struct MergedContent: Hashable, Sendable {
  package var bytes: [UInt8]
  /// True if both changed the same place differently, so that the older side's change was dropped.
  package var hasClash: Bool
}
