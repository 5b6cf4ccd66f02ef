package import Inodes
package import LLVSCore
import Platform
import TreeNames

// Cuts of the tree, and other heads under it.

extension WorkingTree {
  /// The changes that are pending now.
  package var pending: Overlay { atRest { $0.overlay } }

  /// The versions that epochs stand for, by the store's numbers.
  package var epochs: [Epoch: UInt32] { state { $0.epochs } }

  /// The nanoseconds in which no write must follow a save that counts.
  package var settle: UInt64 { state { $0.overlay.settle } }

  /// Changes ``settle``, for saves from now on.
  package func setSettle(_ settle: UInt64) { atRest { $0.overlay.settle = settle } }

  /// True for an inode that a program has open or the kernel knows.
  package func isHeld(_ number: InodeNumber) -> Bool { state { $0.isHeld(number) } }

  /// Begins a cut: what is pending at this instant can be read until the cut ends.
  ///
  /// - Parameter mark: records the instant in the journal.
  /// - Returns: the instant, and what is pending then.
  /// - Throws: what the closure throws; then the cut has not begun.
  package func freeze(
    _ mark: () throws(StoreError) -> Void
  ) throws(StoreError) -> (stamp: ChangeStamp, overlay: Overlay) {
    try writing.withLock { _ throws(StoreError) in
      try mark()
      return state { state in
        let stamp = state.overlay.beginCut()
        state.frozen = state.overlay
        state.activity.beginCut(hasUnsaved: state.hasUnsavedOfNames)
        return (stamp, state.overlay)
      }
    }
  }

  /// Ends a cut that came to nothing: everything stays pending.
  ///
  /// - Parameters:
  ///   - hasFailed: false for a cut that found nothing to take.
  ///   - aside: the names that are ignored: no later cut looks at them until they change.
  ///   - settle: records the end in the journal.
  package func abandonCut(
    hasFailed: Bool = true, aside: Set<InodeName> = [], _ settle: (OverlayEdits) -> Void
  ) {
    writing.withLock { _ in
      let before = state { $0.overlay }
      var after = before
      do throws(BaseError) {
        try after.abandonCut(over: base, aside: aside)
      } catch {
        // The next cut takes over the list of this one.
      }
      settle(OverlayEdits(from: before, to: after))
      state { state in
        state.overlay = after
        state.frozen = nil
        if hasFailed { state.activity.noteTakeable() }
      }
    }
  }

  /// The directories without a name that the kernel knows.
  package var removedDirectories: [InodeNumber] { state { Array($0.removed.keys) } }

  /// Returns the names that were moved since a head was put in place, while the kernel was not yet told of it, and
  /// begins to collect them again. Once there are none the kernel has heard all.
  package func takeMoved() -> [InodeName] {
    state { state in
      let moved = state.moved ?? []
      state.moved = moved.isEmpty ? nil : []
      return moved
    }
  }

  /// Puts another head in place. No call changes the tree in the meantime, and none reads it once the rows change.
  ///
  /// - Parameters:
  ///   - forgetsReaders: true if what processes had seen counts no more, as after a switch to another history.
  ///   - body: gets what is pending, and a closure that it calls before the rows of the head are shown, which
  ///     tells who has looked at names; returns what is pending over them.
  /// - Returns: what was pending before and is pending now.
  /// - Throws: what the closure throws; then the tree is unchanged.
  package func publish(
    forgetsReaders: Bool,
    _ body: (Overlay, _ willShow: () -> SeenNames) throws(StoreError) -> ShownHead
  ) throws(StoreError) -> (before: Overlay, after: Overlay) {
    try writing.withLock { _ throws(StoreError) in
      let before = state { $0.overlay }
      defer { state { $0.isPublishing = false } }
      let new = try body(before) {
        state { $0.isPublishing = true }
        return SeenNames(self)
      }
      state { state in
        for replaced in new.replaced { state.note(replaced) }
        state.writers.lose(new.lost)
        state.writers.find(new.found)
        if forgetsReaders { state.writers.forgetAll() }
        state.moved = []
        state.show(new.overlay, epochs: new.epochs, removed: new.removed)
      }
      return (before, new.overlay)
    }
  }

}

/// The names that processes have looked at, while a head is put in place. Whoever opens a file from then on waits for
/// the head, so nobody is missed.
package struct SeenNames {
  private let tree: WorkingTree

  fileprivate init(_ tree: WorkingTree) { self.tree = tree }

  /// Returns the epochs of the versions that processes saw last at a name, which a head left behind there; nil if no
  /// process looked at the name or at the file there.
  package func epochs(at name: InodeName, _ number: InodeNumber?) -> Set<Epoch>? {
    tree.state { $0.writers.knows(name, number) ? $0.writers.epochs(at: name) : nil }
  }

  /// The paths of directories that earlier heads removed and in which processes are behind.
  package var lost: [TreePath] { tree.state { Array($0.writers.lost.keys) } }
}

/// What the tree shows with another head.
package struct ShownHead {
  /// The changes that are pending over its rows.
  package var overlay: Overlay
  /// The versions that new epochs stand for, by the store's numbers.
  package var epochs: [Epoch: UInt32]
  /// The names that processes have looked at and that show something else.
  package var replaced: [ReplacedName]
  /// The directories that lost their names.
  package var removed: [InodeNumber: PendingNode]
  /// The directories that the head removes, by their paths.
  package var lost: [TreePath: InodeNumber] = [:]
  /// The directories that are now at the paths of those and of ``SeenNames/lost``.
  package var found: [TreePath: InodeNumber] = [:]

  /// Creates one.
  package init(
    overlay: Overlay, epochs: [Epoch: UInt32], replaced: [ReplacedName],
    removed: [InodeNumber: PendingNode]
  ) {
    (self.overlay, self.epochs) = (overlay, epochs)
    (self.replaced, self.removed) = (replaced, removed)
  }
}

extension TreeState {
  fileprivate mutating func note(_ replaced: ReplacedName) {
    writers.bringBack(replaced.name, replaced.after, isSame: replaced.alike.contains)
    writers.leaveBehind(replaced.name, replaced.before, on: replaced.epoch)
  }
}
