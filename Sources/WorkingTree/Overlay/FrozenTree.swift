package import Inodes
import LLVSCore

/// The working tree at a cut's instant: a copied overlay over the recorded tree, which a cut does not change.
/// - Concurrency: one thread at a time.
package final class FrozenTree {
  package let overlay: Overlay
  private static let mostAbove = 1 << 16
  private let base: any Base
  private var paths: [InodeNumber: TreePath?] = [:]
  private var recordedPaths: [InodeNumber: TreePath?] = [:]

  package init(_ overlay: Overlay, over base: any Base) {
    self.overlay = overlay
    self.base = base
  }

  /// nil for a directory without a name.
  func path(of directory: InodeNumber) throws(StoreError) -> TreePath? {
    try Self.path(of: directory, knowing: &paths) { (number) throws(StoreError) in
      try place(of: number)
    }
  }

  /// Returns a directory's path, and caches the paths above. Not recursive: directories can be thousands deep.
  private static func path(
    of directory: InodeNumber, knowing known: inout [InodeNumber: TreePath?],
    _ place: (InodeNumber) throws(StoreError) -> InodeName?
  ) throws(StoreError) -> TreePath? {
    var way: [(directory: InodeNumber, name: FileName)] = []
    var next = directory
    var path: TreePath? = .root
    while next != .root {
      if let found = known[next] {
        path = found
        break
      }
      // A tree with a cycle is damaged.
      guard way.count < mostAbove, let place = try place(next) else {
        path = nil
        known[next] = .some(nil)
        break
      }
      way.append((next, place.name))
      next = place.directory
    }
    for (directory, name) in way.reversed() {
      path = path?.appending(name)
      known[directory] = .some(path)
    }
    return path
  }

  /// nil for a directory without a name.
  func place(of directory: InodeNumber) throws(StoreError) -> InodeName? {
    if directory == .root { return nil }
    if overlay.nodes.contains(directory) { return overlay.nodes.place(of: directory) }
    return try recordedNames(of: directory).first
  }

  /// nil for a directory that the recorded tree does not have.
  func recordedPath(of directory: InodeNumber) throws(StoreError) -> TreePath? {
    try Self.path(of: directory, knowing: &recordedPaths) { (number) throws(StoreError) in
      try recordedNames(of: number).first
    }
  }

  func recordedNames(of number: InodeNumber) throws(StoreError) -> [InodeName] {
    try base.names(of: number)
  }

  func recorded(at place: InodeName) throws(StoreError) -> BaseEntry? {
    // A change of a name has it if the recorded tree does (I3).
    if let change = overlay.changes[place], !change.hidesRecorded { return nil }
    return try base.child(of: place.directory, named: place.name)
  }

  func recorded(_ number: InodeNumber) throws(StoreError) -> InodeRecord? {
    try base.inode(number)?.record
  }

  func isRecordedDirectory(_ number: InodeNumber) throws(StoreError) -> Bool {
    try recorded(number)?.isDirectory ?? false
  }
}
