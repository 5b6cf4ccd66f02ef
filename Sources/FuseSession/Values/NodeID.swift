/// The number by which the kernel refers to a node until it forgets it.
package struct NodeID: RawRepresentable, Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// Creates the id with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates the id with a number.
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// The node of the mount's root directory (`FUSE_ROOT_ID`).
  package static var root: NodeID { NodeID(1) }
}

/// The number that the answer to an open gave to a file or directory handle.
package struct HandleID: RawRepresentable, Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// Creates the id with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates the id with a number.
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A node and the number by which the kernel lowers its look-up count.
package struct Forgotten: Hashable, Sendable {
  /// The node.
  package let node: NodeID
  /// The number of look-ups.
  package let count: UInt64

  package init(node: NodeID, count: UInt64) {
    self.node = node
    self.count = count
  }
}
