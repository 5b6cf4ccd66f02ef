package import Inodes
import LLVSCore
package import TreeNames

// The patterns that keep names out of versions: the store's own, and `.llvsignore` files as programs see them.

extension WorkingTree {
  package var ignore: IgnorePatterns { state { $0.ignore } }

  /// Returns the pattern that matches a path or a directory above it; throws the error of the recorded tree.
  package func reasonToIgnore(
    _ path: TreePath, isDirectory: Bool
  ) throws(FSError) -> IgnoreScope.Reason? {
    try ignoreScope(of: path).reason(path: path.bytes, isDirectory: isDirectory)
  }

  /// Returns the patterns for a path, without unreadable files; throws the error of the recorded tree.
  package func ignoreScope(of path: TreePath) throws(FSError) -> IgnoreScope {
    var last: [IgnoreFile] = []
    while true {
      let (own, files) = try answer { state, base throws(FSError) in
        (state.ignore, try ignoreFiles(above: path, state, base))
      }
      var scope = IgnoreScope(own)
      var isWhole = true
      for file in files {
        if let text = text(of: file.content) {
          scope.add(IgnorePatterns(text), of: file.directory.bytes)
        } else {
          isWhole = false
        }
      }
      // A change may have replaced the bytes while they were read.
      if isWhole || files == last { return scope }
      last = files
    }
  }

  /// Returns the patterns of the file in a directory; nil without a readable one.
  package func ignorePatterns(in directory: TreePath) throws(FSError) -> IgnorePatterns? {
    let within = directory.appending(FileName(IgnoreScope.fileName))
    let files = try answer { state, base throws(FSError) in
      try ignoreFiles(above: within, state, base)
    }
    guard let last = files.last, last.directory == directory, let text = text(of: last.content)
    else { return nil }
    return IgnorePatterns(text)
  }

  private struct IgnoreFile: Equatable {
    var directory: TreePath
    var content: FileContent
  }

  func text(of content: FileContent) -> [UInt8]? {
    var text = [UInt8](repeating: 0, count: Int(content.size))
    let result = text.withUnsafeMutableBytes { raw in
      Result { () throws(FSError) in try read(content, at: 0, into: raw) }
    }
    return (try? result.get()) == text.count ? text : nil
  }

  /// Returns the files with patterns on the way to a path, from the root down.
  private func ignoreFiles(
    above path: TreePath, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [IgnoreFile] {
    var files: [IgnoreFile] = []
    var (number, directory) = (InodeNumber.root, TreePath.root)
    var names = path.parent.names[...]
    while true {
      if let content = try ignoreFile(in: number, state, base) {
        files.append(IgnoreFile(directory: directory, content: content))
      }
      guard let name = names.popFirst(),
        let next = try inode(at: InodeName(directory: number, name: name), state, base),
        try kind(of: next, state, base) == .directory
      else { return files }
      (number, directory) = (next, directory.appending(name))
    }
  }

  private func ignoreFile(
    in directory: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> FileContent? {
    var place = InodeName(directory: directory, name: FileName(IgnoreScope.fileName))
    if state.overlay.changes[place.aside]?.inode != nil { place = place.aside }
    var content: FileContent?
    if let number = try inode(at: place, state, base), try kind(of: number, state, base) == .regular
    {
      if let file = state.overlay.nodes[number]?.file { content = file.savedContent }
      if content == nil {
        let record = try FSError.translating(try base.inode(number))?.record
        content = record.map { FileContent(stored: $0.stored) }
      }
    }
    if content == nil,
      let record = try FSError.translating(
        try base.child(of: directory, named: place.name))?.inode.record, record.kind == .regular
    {
      // Patterns hold until a version is without their file.
      content = FileContent(stored: record.stored)
    }
    guard let content, content.size > 0, content.size <= UInt64(IgnoreScope.fileLimit)
    else { return nil }
    return content
  }
}
