package struct KernelName: Hashable, Sendable {
  package var parent: UInt64
  package var name: [UInt8]
}

/// The directories that the kernel must keep although they have no handles.
package struct KernelUse: Sendable {
  package var directories: Set<UInt64>
  /// Paths from the root of other mounts.
  package var mounts: [[UInt8]]
  /// False if there may be more: then every directory is kept.
  package var isKnown: Bool

  package init(directories: Set<UInt64> = [], mounts: [[UInt8]] = [], isKnown: Bool = true) {
    self.directories = directories
    self.mounts = mounts
    self.isKnown = isKnown
  }

}

/// The limit on nodes, and the listener for reaching it.
package struct Crowd {
  package var limit = Int.max
  /// More nodes than this are reported; above the limit while nodes are in use or pending.
  package var threshold = Int.max
  /// Called with the lock held, once for each call of the watch.
  package var isCrowded: (@Sendable () -> Void)?
  /// The number of nodes that long paths count for in addition.
  package var weight = 0

  package init() {}

  /// Returns the nodes that a path counts for: one is about 190 bytes, and most paths are shorter.
  package static func weight(ofPath count: Int) -> Int { count / 256 }

  /// Returns the next threshold after some nodes could not be freed.
  package static func threshold(over count: Int, limit: Int) -> Int {
    max(limit, count.addingReportingOverflow(limit / 8).partialValue)
  }

  /// Lowers the threshold after nodes were freed, unless it was reached.
  package mutating func noteCount(_ count: Int) {
    guard threshold != Int.max, threshold > limit else { return }
    threshold = min(threshold, Self.threshold(over: count, limit: limit))
  }
}
