import Platform

extension LiveTree {
  /// A value that changes with everything that the tree shows.
  package struct ShownStamp: Hashable, Sendable {
    var change: UInt64
    var base: UInt64
  }

  /// The stamp of what the tree shows now.
  package var shownStamp: ShownStamp {
    lock.withLock { _ in ShownStamp(change: stamp, base: baseStamp) }
  }
}
