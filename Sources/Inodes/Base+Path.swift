extension Base {
  /// Returns a path at which the tree has an inode.
  ///
  /// - Throws: ``BaseError/damaged(_:)`` if no name leads to it.
  package func path(of number: InodeNumber) throws(BaseError) -> TreePath {
    var names: [FileName] = []
    var number = number
    while number != .root {
      guard names.count <= 4096, let name = try self.names(of: number).first else {
        throw .damaged("a name that leads to an inode is missing")
      }
      names.append(name.name)
      number = name.directory
    }
    return names.reversed().reduce(TreePath.root) { $0.appending($1) }
  }
}
