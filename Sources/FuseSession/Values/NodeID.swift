/// The number by which the kernel names a node for as long as it remembers it.
package struct NodeID: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates the id of a number.
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// The node of the mount's root directory (`FUSE_ROOT_ID`).
  package static var root: NodeID { NodeID(1) }
}

/// The number that an open gave to its file or directory handle.
package struct HandleID: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates the id of a number.
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A node and how many look-ups of it the kernel gives back.
package struct Forgotten: Hashable, Sendable {
  package let node: NodeID
  package let count: UInt64

  package init(node: NodeID, count: UInt64) {
    self.node = node
    self.count = count
  }
}
