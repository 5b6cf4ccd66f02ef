package import Inodes
import LLVSCore
package import TreeNames

/// The patterns of ignored names at the instant of a cut: the store's own and those of visible `.llvsignore` files.
/// - Concurrency: one thread at a time.
package final class IgnoreRules {
  private let tree: FrozenTree
  private let own: IgnorePatterns
  /// The tree whose files count where no program changed them; nil for the recorded tree.
  private let unchanged: TreeView?
  /// nil if the bytes cannot be read.
  private let read: (FileContent) -> [UInt8]?
  private var scopes: [InodeNumber: IgnoreScope] = [:]

  package init(
    _ own: IgnorePatterns, in tree: FrozenTree, unchanged: TreeView? = nil,
    read: @escaping (FileContent) -> [UInt8]?
  ) {
    self.own = own
    self.tree = tree
    self.unchanged = unchanged
    self.read = read
  }

  /// True if a pattern matches a name or a directory above it.
  func ignores(
    _ path: TreePath, in directory: InodeNumber, isDirectory: Bool
  ) throws(StoreError) -> Bool {
    try scope(of: directory).ignores(path: path.bytes, isDirectory: isDirectory)
  }

  /// True for a name that the recorded tree lacks and a pattern matches, unless it is a directory recorded elsewhere.
  func ignores(_ place: InodeName) throws(StoreError) -> Bool {
    guard let number = tree.overlay.changes[place]?.inode else { return false }
    return try ignores(number, at: place)
  }

  /// True if an inode had this name and a pattern matched it.
  func ignored(_ number: InodeNumber, at place: InodeName) throws(StoreError) -> Bool {
    guard tree.overlay.changes[place]?.inode == number else { return false }
    return try ignores(number, at: place)
  }

  /// True if a pattern matches an inode at a name.
  func ignores(_ number: InodeNumber, at place: InodeName) throws(StoreError) -> Bool {
    guard let kind = tree.overlay.nodes.kind(of: number),
      let above = try tree.path(of: place.directory)
    else { return false }
    if kind == .directory, try tree.isRecordedDirectory(number) { return false }
    return try ignores(
      above.appending(place.name), in: place.directory, isDirectory: kind == .directory)
  }

  private func scope(of directory: InodeNumber) throws(StoreError) -> IgnoreScope {
    if let known = scopes[directory] { return known }
    var scope = IgnoreScope(own)
    if let place = try tree.place(of: directory) { scope = try self.scope(of: place.directory) }
    if let path = try tree.path(of: directory), let patterns = try patterns(in: directory) {
      scope.add(patterns, of: path.bytes)
    }
    scopes[directory] = scope
    return scope
  }

  private func patterns(in directory: InodeNumber) throws(StoreError) -> IgnorePatterns? {
    var place = InodeName(directory: directory, name: FileName(IgnoreScope.fileName))
    // The file may be scratch itself.
    if tree.overlay.changes[place.aside]?.inode != nil { place = place.aside }
    guard let content = try content(at: place), content.size > 0,
      content.size <= UInt64(IgnoreScope.fileLimit)
    else { return nil }
    return read(content).map { IgnorePatterns($0) }
  }

  private func content(at place: InodeName) throws(StoreError) -> FileContent? {
    let change = tree.overlay.changes[place]
    if let number = change?.inode, let node = tree.overlay.nodes[number], node.kind == .regular {
      return try saved(node.file, number, at: place)
    }
    // Versions are not yet without a file that was removed or replaced.
    guard let recorded = try recorded(at: place) else { return nil }
    // A file may keep its name and have pending bytes.
    if change == nil, let number = try tree.recorded(at: place)?.inode.number,
      let node = tree.overlay.nodes[number]
    {
      return try saved(node.file, number, at: place)
    }
    return recorded
  }

  /// The bytes that were saved last.
  private func saved(
    _ file: PendingFile?, _ number: InodeNumber, at place: InodeName
  ) throws(StoreError) -> FileContent? {
    guard let file else { return nil }
    if let content = file.savedContent { return content }
    if let record = try tree.recorded(number) { return FileContent(stored: record.stored) }
    return try recorded(at: place)
  }

  private func recorded(at place: InodeName) throws(StoreError) -> FileContent? {
    guard let unchanged else {
      guard let record = try tree.recorded(at: place)?.inode.record, record.kind == .regular
      else { return nil }
      return FileContent(stored: record.stored)
    }
    guard let path = try tree.path(of: place.directory)?.appending(place.name),
      case .value(let entry)? = try unchanged.find(path: path.bytes), entry.kind == .regular
    else { return nil }
    return FileContent(stored: entry.stored)
  }
}
