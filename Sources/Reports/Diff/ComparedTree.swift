package import LLVSCore
package import WorkingTree

/// A working tree as it is compared with versions: through its mount, or in memory where nothing is mounted.
package protocol ComparedTree {
  /// The names that differ from the head.
  /// - Throws: ``ControlError`` of kind busy where there are too many.
  func pending(in store: Store) throws -> [(change: PendingPath.Change, path: [UInt8])]
  func image(_ path: [UInt8]) throws -> FileImage?
  /// The names in a directory but those that patterns keep out of versions; none where there is no directory.
  func names(in path: [UInt8]) throws -> [[UInt8]]
}
