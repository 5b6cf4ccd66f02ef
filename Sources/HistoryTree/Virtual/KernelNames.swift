// Names that the kernel is to forget where it remembers too many: of history, which has a node for each.

/// A name that the kernel knows.
package struct KernelName: Hashable, Sendable {
  package var parent: UInt64
  package var name: [UInt8]

  package init(parent: UInt64, name: [UInt8]) {
    self.parent = parent
    self.name = name
  }
}

/// The directories that must not be taken from the kernel although no handle says so.
package struct KernelUse: Sendable {
  /// Directories where processes work, by number.
  package var directories: Set<UInt64>
  /// Paths from the root where something else is mounted.
  package var mounts: [[UInt8]]
  /// True if that is all of it: if not, no directory is taken.
  package var isKnown: Bool

  package init(directories: Set<UInt64> = [], mounts: [[UInt8]] = [], isKnown: Bool = true) {
    self.directories = directories
    self.mounts = mounts
    self.isKnown = isKnown
  }

  /// True if something is mounted at or below a path.
  package func coversMount(_ path: [UInt8]) -> Bool {
    mounts.contains {
      $0.starts(with: path) && (path.isEmpty || $0.count == path.count || $0[path.count] == 0x2F)
    }
  }
}

/// The number of nodes that is too many, and those who are told.
package struct Crowd {
  /// More nodes than this are too many.
  package var limit = Int.max
  /// At more than this it is told; above the limit while what is in use or pending has to stay.
  package var threshold = Int.max
  /// Called with the lock held, once until the watch is called again.
  package var isCrowded: (@Sendable () -> Void)?
  /// The number of nodes by which remembered paths count more than they are.
  package var weight = 0

  package init() {}

  /// Returns as how many nodes a path of so many bytes counts: one is about 190 bytes, and most paths shorter.
  package static func weight(ofPath count: Int) -> Int { count / 256 }

  /// Returns where to tell again after something had to stay.
  package static func threshold(over count: Int, limit: Int) -> Int {
    max(limit, count.addingReportingOverflow(limit / 8).partialValue)
  }

  /// Fewer have to stay: the threshold comes down with them, unless it was reached and is being seen to.
  package mutating func noteCount(_ count: Int) {
    guard threshold != Int.max, threshold > limit else { return }
    threshold = min(threshold, Self.threshold(over: count, limit: limit))
  }
}
