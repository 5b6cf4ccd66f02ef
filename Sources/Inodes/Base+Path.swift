extension Base {
  /// Returns a path of an inode; ``BaseError/damaged(_:)`` if it has no name.
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
