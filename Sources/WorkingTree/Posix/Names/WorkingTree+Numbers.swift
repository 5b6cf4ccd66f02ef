package import Inodes
import LLVSCore
package import TreeNames

// Inodes by their numbers, which name_to_handle_at(2) gives to programs. The kernel may have forgotten the inode
// in the meantime, and the store may have been mounted again.

extension WorkingTree {
  /// Finds the inode of a number, or the directory that holds it; the kernel then knows that. The root holds itself.
  ///
  /// - Parameters:
  ///   - number: the number.
  ///   - above: true for the directory.
  ///   - thread: the thread for which the kernel is given the attributes; nil if it is not.
  /// - Returns: the attributes of what was found.
  /// - Throws: ``FSError/stale`` for a number that nobody has, and for a file that has neither a name nor anybody who
  ///   has it open, or the error of the recorded tree.
  package func lookup(
    number: InodeNumber, above: Bool = false, thread: Int32? = nil
  ) throws(FSError) -> InodeStatus {
    try answer { state, base throws(FSError) in
      try checkIsShown(number, state, base)
      if let node = state.overlay.nodes.node(number), node.names.isEmpty, number != .root,
        !state.handles.isOpen(number)
      {
        // The kernel is about to forget it.
        throw .stale
      }
      let found = above ? try directory(of: number, state, base) : number
      let status = try status(of: found, state, base)
      state.noteLookup(found)
      state.noteReader(thread, of: found)
      return status
    }
  }

  private func directory(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeNumber {
    guard number != .root else { return .root }
    return try names(of: number, state, base).first?.directory ?? .root
  }

  /// Returns a path of an inode; nil for one without a name.
  ///
  /// - Throws: ``FSError/stale`` for a number that nobody has, or the error of the recorded tree.
  /// - Complexity: O(depth).
  package func path(of number: InodeNumber) throws(FSError) -> TreePath? {
    try answer { state, base throws(FSError) in
      try checkIsShown(number, state, base)
      guard number != .root else { return .some(.root) }
      guard let name = try names(of: number, state, base).first else { return nil }
      let above = try directories(above: name.directory, state, base).reversed()
      return above.reduce(TreePath.root) { $0.appending($1.name) }.appending(name.name)
    }
  }

  /// Notes that a thread changed attributes of inodes; returns the inodes of which another thread may still bring the
  /// old attributes to the kernel.
  ///
  /// The kernel accepts an answer to LOOKUP, READDIRPLUS or GETATTR although it has seen a name of the directory made
  /// or removed since it asked: that is no change of attributes for it (fuse_dir_changed).
  package func outdated(_ changed: [InodeNumber], by thread: Int32) -> [InodeNumber] {
    state { state in changed.filter { state.noteChange(of: $0, by: thread) } }
  }

  /// True if the kernel knows an inode by more look-ups than `count`, so that a program may be in it.
  package func isKnownToKernel(_ number: InodeNumber, besides count: UInt64) -> Bool {
    state { ($0.known[number]?.lookups ?? 0) > count }
  }

  /// The number of inodes that the kernel knows, besides the root.
  package var knownCount: Int { state { $0.known.count - 1 } }

  /// True if a program has a file open.
  package func isOpen(_ number: InodeNumber) -> Bool { state { $0.handles.isOpen(number) } }
}

/// A value that changes with everything that a tree shows.
package struct ShownStamp: Hashable, Sendable {
  var change: ChangeStamp
  var publication: UInt64
}

extension WorkingTree {
  /// The stamp of what the tree shows now.
  package var shownStamp: ShownStamp {
    state { ShownStamp(change: $0.overlay.stamp, publication: $0.publication) }
  }

  /// The number of heads that were shown: it grows whenever another one is.
  package var publications: UInt64 { state { $0.publication } }
}
