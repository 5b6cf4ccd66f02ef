/// The kernel's number of a node until it forgets the node.
package struct NodeID: Hashable, Sendable {
  package let rawValue: UInt64

  package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  package static var root: NodeID { NodeID(1) }
}

/// The number of a file or directory handle.
package struct HandleID: Hashable, Sendable {
  package let rawValue: UInt64

  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

package struct Forgotten: Hashable, Sendable {
  package let node: NodeID
  /// The decrease of the look-up count.
  package let count: UInt64
}
