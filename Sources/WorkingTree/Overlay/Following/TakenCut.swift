package import Inodes
package import LLVSCore

/// The changes that a cut took, and the versions that later changes of them are made on.
package struct TakenCut: Hashable, Sendable {
  /// The version that a change went into.
  package enum Destination: Hashable, Sendable {
    /// The version made on the head.
    case head
    /// A version made on an older one, with an epoch of its own.
    case beside(Epoch)
    /// None, because the version that the change was made on has it already.
    case nowhere

    /// The epoch of a change over the taken one; nil for what the tree shows.
    func epoch(of on: Epoch?) -> Epoch? {
      switch self {
      case .head: nil
      case .beside(let epoch): epoch
      case .nowhere: on
      }
    }
  }

  package struct Name: Hashable, Sendable {
    package var destination: Destination
    /// True if something was put at the name, false if it was removed.
    package var isThere: Bool
    /// The epoch that the change was made on; nil for what the tree showed.
    package var on: Epoch?

    package init(_ destination: Destination, isThere: Bool, on: Epoch? = nil) {
      self.destination = destination
      self.isThere = isThere
      self.on = on
    }
  }

  /// A node whose bytes or attributes went into a version.
  package struct Node: Hashable, Sendable {
    package var destination: Destination
    /// The save that was taken; nil for the recorded bytes with other attributes or another name.
    package var save: PendingFile.Save?
    /// The epoch that the node was changed on; nil for what the tree showed.
    package var on: Epoch?
    package var attributes: Attributes
    /// True if the long extended ones were as recorded and are left out.
    package var lacksExtended: Bool

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

  /// The cut's instant; later changes have greater stamps.
  package var stamp: ChangeStamp
  /// The names that were taken or had nothing to take.
  package var names: [InodeName: Name] = [:]
  package var nodes: [InodeNumber: Node] = [:]
  /// Ignored names, which no later cut looks at until they change. A journal need not keep them.
  package var aside: Set<InodeName> = []
  package init(at stamp: ChangeStamp) { self.stamp = stamp }

  /// The epoch of the version next to the head that took a name or a directory above, where `overlay` has it; nil
  /// for the head's line.
  func epoch(at place: InodeName, in overlay: Overlay) -> Epoch? {
    var place = place
    for _ in 0..<4096 {
      if let name = names[place] { return name.destinationEpoch }
      guard let above = overlay.nodes.place(of: place.directory) else { return nil }
      place = above
    }
    return nil
  }
}

extension TakenCut.Name {
  /// nil for the version made on the head.
  package var destinationEpoch: Epoch? { destination.epoch(of: on) }
  /// The epoch of a later change of the name: the version that took this one, unless its writer had seen another.
  func epoch(after later: Epoch?) -> Epoch? { later == on ? destination.epoch(of: on) : later }
}

extension TakenCut.Node {
  /// The epoch of bytes written after the taken ones.
  func epoch(after later: Epoch?) -> Epoch? {
    let on = save.map(\.on) ?? on
    return later == on ? destination.epoch(of: on) : later
  }
}
