package import Inodes
package import LLVSCore

/// The changes that a cut took, and the epochs of programs that go on with them.
package struct TakenCut: Hashable, Sendable {
  /// The version that a change went into.
  package enum Destination: Hashable, Sendable {
    /// The one that was made on the head: who goes on has seen what the tree shows.
    case head
    /// One beside it, which has an epoch of its own.
    case beside(Epoch)
    /// None, since it has what the change says already: who goes on has seen what he had.
    case nowhere
  }

  /// A change of a name.
  package struct Name: Hashable, Sendable {
    /// The version that it went to.
    package var destination: Destination
    /// True if something was put at the name, false if something was removed.
    package var isThere: Bool

    /// Creates one.
    package init(_ destination: Destination, isThere: Bool) {
      self.destination = destination
      self.isThere = isThere
    }
  }

  /// A node whose bytes or attributes went into a version.
  package struct Node: Hashable, Sendable {
    /// The version that they went to.
    package var destination: Destination
    /// The save that was taken; nil for what the recorded tree had, with other attributes or another name.
    package var save: PendingFile.Save?
    /// The epoch that its writer had seen.
    package var seen: Epoch?
    /// The attributes that were taken.
    package var attributes: Attributes

    /// Creates one.
    package init(
      _ destination: Destination, save: PendingFile.Save?, seen: Epoch?, attributes: Attributes
    ) {
      self.destination = destination
      self.save = save
      self.seen = seen
      self.attributes = attributes
    }
  }

  /// The cut's instant: what has a greater stamp came later.
  package var stamp: ChangeStamp
  /// The names that were taken, or that had nothing to take.
  package var names: [InodeName: Name] = [:]
  /// The nodes that were taken.
  package var nodes: [InodeNumber: Node] = [:]
  /// The directories in which names came and went: the recorded tree takes over their times. A journal need not keep
  /// them.
  package var times: Set<InodeNumber> = []
  /// The names that are ignored: no later cut looks at them until they change. A journal need not keep them.
  package var aside: Set<InodeName> = []

  /// Creates a cut that took nothing.
  package init(at stamp: ChangeStamp) {
    self.stamp = stamp
  }
}
