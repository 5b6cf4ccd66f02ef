package import Inodes
package import LLVSCore
package import PendingTree

/// The working tree at the instant of a cut: the overlay as it was then, over the recorded tree, which does not
/// change before the cut has ended.
///
/// - Concurrency: one thread at a time.
package final class FrozenTree {
  /// The changes at the instant.
  package let overlay: Overlay
  private let base: any Base
  private var paths: [InodeNumber: TreePath?] = [:]
  private var recordedPaths: [InodeNumber: TreePath?] = [:]

  /// Creates a tree from a frozen overlay and the recorded tree below it.
  package init(_ overlay: Overlay, over base: any Base) {
    self.overlay = overlay
    self.base = base
  }

  /// Returns the path at which programs saw a directory; nil if it had no name.
  func path(of directory: InodeNumber) throws(StoreError) -> TreePath? {
    if let known = paths[directory] { return known }
    let path: TreePath?
    if directory == .root {
      path = .root
    } else if let place = try place(of: directory) {
      path = try self.path(of: place.directory)?.appending(place.name)
    } else {
      path = nil
    }
    paths[directory] = .some(path)
    return path
  }

  /// Returns the name at which programs saw a directory; nil if it had none.
  func place(of directory: InodeNumber) throws(StoreError) -> InodeName? {
    if directory == .root { return nil }
    if let node = overlay.nodes[directory] { return node.place }
    return try recordedNames(of: directory).first
  }

  // MARK: - The recorded tree

  /// Returns the path at which the recorded tree has a directory; nil if it has none.
  func recordedPath(of directory: InodeNumber) throws(StoreError) -> TreePath? {
    if let known = recordedPaths[directory] { return known }
    let path: TreePath?
    if directory == .root {
      path = .root
    } else if let place = try recordedNames(of: directory).first {
      path = try recordedPath(of: place.directory)?.appending(place.name)
    } else {
      path = nil
    }
    recordedPaths[directory] = .some(path)
    return path
  }

  func recordedNames(of number: InodeNumber) throws(StoreError) -> [InodeName] {
    try StoreError.wrappingBase { () throws(BaseError) in try base.names(of: number) }
  }

  func recorded(at place: InodeName) throws(StoreError) -> BaseEntry? {
    try StoreError.wrappingBase { () throws(BaseError) in
      try base.child(of: place.directory, named: place.name)
    }
  }

  func recorded(_ number: InodeNumber) throws(StoreError) -> InodeRecord? {
    try StoreError.wrappingBase { () throws(BaseError) in try base.inode(number)?.record }
  }

  func isRecordedDirectory(_ number: InodeNumber) throws(StoreError) -> Bool {
    try recorded(number)?.isDirectory ?? false
  }
}

extension StoreError {
  /// The error of a store that a failure of the recorded tree comes to.
  package init(_ error: BaseError) {
    self =
      switch error {
      case .damaged(let fault): .corrupt(fault)
      case .store(let error): error
      case .system(let error): .system(error)
      case .refused(let reason): .busy(reason)
      }
  }

  /// Reads or changes the recorded tree, and throws a failure as an error of the store.
  package static func wrappingBase<Result>(
    _ body: () throws(BaseError) -> Result
  ) throws(StoreError) -> Result {
    do throws(BaseError) {
      return try body()
    } catch {
      throw StoreError(error)
    }
  }
}
