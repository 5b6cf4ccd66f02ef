/// What the kernel must be told after names or bytes changed without its doing.
package enum Invalidation: Hashable, Sendable {
  /// The attributes of a node, as the kernel names it; other bytes are another node.
  case node(UInt64)
  /// A name of a directory, whether it is there or known to be absent.
  case entry(parent: UInt64, name: [UInt8])
}
