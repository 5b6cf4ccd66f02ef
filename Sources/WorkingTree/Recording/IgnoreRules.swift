package import Inodes
import LLVSCore
package import TreeNames

/// The patterns of ignored names at the instant of a cut: the store's own and those of visible `.llvsignore` files.
/// - Concurrency: one thread at a time.
package final class IgnoreRules {
  private let tree: FrozenTree
  private let own: IgnorePatterns
  /// nil if the bytes cannot be read.
  private let read: (FileContent) -> [UInt8]?
  private var scopes: [InodeNumber: IgnoreScope] = [:]

  package init(
    _ own: IgnorePatterns, in tree: FrozenTree, read: @escaping (FileContent) -> [UInt8]?
  ) {
    self.own = own
    self.tree = tree
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
    guard let number = tree.overlay.changes[place]?.inode,
      let kind = tree.overlay.nodes.kind(of: number),
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
    let place = InodeName(directory: directory, name: FileName(IgnoreScope.fileName))
    guard let content = try content(at: place), content.size > 0,
      content.size <= UInt64(IgnoreScope.fileLimit)
    else { return nil }
    return read(content).map { IgnorePatterns($0) }
  }

  private func content(at place: InodeName) throws(StoreError) -> FileContent? {
    switch tree.overlay.shown(at: place) {
    case .pending(nil): return nil
    case .pending(let number?):
      guard let node = tree.overlay.nodes[number], node.kind == .regular else { return nil }
      return try saved(node.file, at: place)
    case .recorded:
      guard let inode = try tree.recorded(at: place)?.inode, inode.record.kind == .regular
      else { return nil }
      // A file may keep its name and have pending bytes.
      if let node = tree.overlay.nodes[inode.number] { return try saved(node.file, at: place) }
      return FileContent(stored: inode.record.stored)
    }
  }

  /// The bytes that versions have: a program that rewrites the file may have emptied or replaced it just now.
  private func saved(_ file: PendingFile?, at place: InodeName) throws(StoreError) -> FileContent? {
    guard let file, file.isUnsaved else { return file?.content }
    if let content = file.saved?.content ?? file.counted?.content ?? file.taken { return content }
    guard let record = try tree.recorded(at: place)?.inode.record, record.kind == .regular
    else { return nil }
    return FileContent(stored: record.stored)
  }
}
