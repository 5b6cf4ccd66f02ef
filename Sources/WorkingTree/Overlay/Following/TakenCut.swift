package import Inodes
package import LLVSCore

/// The changes that a cut took, and the versions that later changes of the same names and files are made on.
package struct TakenCut: Hashable, Sendable {
  /// The version that a change went into.
  package enum Destination: Hashable, Sendable {
    /// The one that was made on the head.
    case head
    /// One that was made on an older version, and has an epoch of its own.
    case beside(Epoch)
    /// None, since the version that the change was made on has what the change says already.
    case nowhere

    /// Returns the epoch that a change goes on with which was put over the taken one; nil for what the tree shows.
    func epoch(of on: Epoch?) -> Epoch? {
      switch self {
      case .head: nil
      case .beside(let epoch): epoch
      case .nowhere: on
      }
    }
  }

  /// A change of a name.
  package struct Name: Hashable, Sendable {
    /// The version that it went to.
    package var destination: Destination
    /// True if something was put at the name, false if something was removed.
    package var isThere: Bool
    /// The epoch of the version that the change was made on; nil for what the tree showed.
    package var on: Epoch?

    /// Creates one.
    package init(_ destination: Destination, isThere: Bool, on: Epoch? = nil) {
      self.destination = destination
      self.isThere = isThere
      self.on = on
    }
  }

  /// A node whose bytes or attributes went into a version.
  package struct Node: Hashable, Sendable {
    /// The version that they went to.
    package var destination: Destination
    /// The save that was taken; nil for what the recorded tree had, with other attributes or another name.
    package var save: PendingFile.Save?
    /// The epoch of the version that the node was changed on; nil for what the tree showed.
    package var on: Epoch?
    /// The attributes that were taken.
    package var attributes: Attributes
    /// True if the long extended ones were as the recorded tree has them, and are left out.
    package var lacksExtended: Bool

    /// Creates one.
    package init(
      _ destination: Destination, save: PendingFile.Save?, on: Epoch?, attributes: Attributes,
      lacksExtended: Bool = false
    ) {
      self.destination = destination
      self.save = save
      self.on = on
      self.attributes = attributes
      self.lacksExtended = lacksExtended
    }
  }

  /// The cut's instant: what has a greater stamp came later.
  package var stamp: ChangeStamp
  /// The names that were taken, or that had nothing to take.
  package var names: [InodeName: Name] = [:]
  /// The nodes that were taken.
  package var nodes: [InodeNumber: Node] = [:]
  /// The directories in which names came and went: the recorded tree gets their times. A journal need not keep them.
  package var times: Set<InodeNumber> = []
  /// The names that are ignored: no later cut looks at them until they change. A journal need not keep them.
  package var aside: Set<InodeName> = []

  package init(at stamp: ChangeStamp) { self.stamp = stamp }
}

extension TakenCut.Name {
  /// The epoch of the version that has the change; nil for the one that was made on the head.
  package var destinationEpoch: Epoch? { destination.epoch(of: on) }

  /// Returns the epoch of a later change of the name: that of the version which took this one, unless its writer had
  /// seen another.
  func epoch(after later: Epoch?) -> Epoch? { later == on ? destination.epoch(of: on) : later }
}

extension TakenCut.Node {
  /// Returns the epoch of bytes that were written after those which were taken.
  func epoch(after later: Epoch?) -> Epoch? {
    let on = save.map(\.on) ?? on
    return later == on ? destination.epoch(of: on) : later
  }
}
