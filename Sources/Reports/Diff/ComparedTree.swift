package import LLVSCore
package import WorkingTree

/// A working tree for comparisons with versions: through its mount, or in memory if the store is not mounted.
package protocol ComparedTree {
  /// The names that differ from the head.
  /// - Throws: ``ControlError`` of kind busy if there are too many.
  func pending(in store: Store) throws -> [(change: PendingPath.Change, path: [UInt8])]
  func image(_ path: [UInt8]) throws -> FileImage?
  /// The names in a directory without ignored ones; none without a directory.
  func names(in path: [UInt8]) throws -> [[UInt8]]
}
