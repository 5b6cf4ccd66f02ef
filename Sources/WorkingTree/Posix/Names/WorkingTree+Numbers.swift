package import Inodes
package import TreeNames

// Inodes by number, as programs have them from name_to_handle_at(2). The kernel may have forgotten the inode, and
// the store may have been remounted.

extension WorkingTree {
  /// Finds an inode, or with `above` its directory (the root's is itself), and returns its attributes, for `thread`
  /// if it is not nil; the kernel then knows it. Throws ``FSError/stale`` for an unknown number or a file without
  /// name or open handle, or the error of the recorded tree.
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

  /// Returns a path of an inode, in O(depth); nil for one without a name. Throws ``FSError/stale``, or the error of
  /// the recorded tree.
  package func path(of number: InodeNumber) throws(FSError) -> TreePath? {
    try answer { state, base throws(FSError) in
      try checkIsShown(number, state, base)
      guard number != .root else { return .some(.root) }
      guard let name = try names(of: number, state, base).first else { return nil }
      let above = try directories(above: name.directory, state, base).reversed()
      return above.reduce(TreePath.root) { $0.appending($1.name) }.appending(name.name).own
    }
  }

  /// Notes a change of attributes by a thread; returns the inodes whose old attributes another thread may still
  /// bring to the kernel.
  ///
  /// The kernel accepts an answer to LOOKUP, READDIRPLUS or GETATTR even if a name was made or removed in the
  /// directory since the request, because that is no change of attributes for it (fuse_dir_changed).
  package func outdated(_ changed: [InodeNumber], by thread: Int32) -> [InodeNumber] {
    state { state in changed.filter { state.noteChange(of: $0, by: thread) } }
  }

  /// True if the kernel knows an inode by more than `count` look-ups, so that a program may be in it.
  package func isKnownToKernel(_ number: InodeNumber, besides count: UInt64) -> Bool {
    state { ($0.known[number]?.lookups ?? 0) > count }
  }

  package func isOpen(_ number: InodeNumber) -> Bool { state { $0.handles.isOpen(number) } }
}

/// A value that changes with everything that a tree shows.
package struct ShownStamp: Hashable, Sendable {
  var change: ChangeStamp
  var publication: UInt64
}

extension WorkingTree {
  package var shownStamp: ShownStamp {
    state { ShownStamp(change: $0.overlay.stamp, publication: $0.publication) }
  }

  /// Grows with each head that is shown.
  package var publications: UInt64 { state { $0.publication } }
}
