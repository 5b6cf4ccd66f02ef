package import Inodes
package import LLVSCore
import Platform

extension WorkingTree {
  package var pending: Overlay { atRest { $0.overlay } }
  /// The versions of epochs, by the store's numbers.
  package var epochs: [Epoch: UInt32] { state { $0.epochs } }

  /// What pending changes need of the store: the values that their bytes rest on, and the versions that they are made
  /// on.
  package var roots: OutsideRoots {
    state { state in
      var roots = OutsideRoots()
      for number in state.epochs.values where number > 0 {
        roots.versions.insert(VersionNumber(number))
      }
      for overlay in [state.overlay, state.frozen].compactMap(\.self) {
        overlay.nodes.forEachFile { file in
          for content in [file.content, file.saved?.content, file.counted?.content, file.taken] {
            if let base = content?.base { roots.contents.append(base) }
          }
        }
      }
      return roots
    }
  }

  /// The nanoseconds without a write after which a save counts.
  package var settle: UInt64 { state { $0.overlay.settle } }
  package func setSettle(_ settle: UInt64) { atRest { $0.overlay.settle = settle } }
  package func isHeld(_ number: InodeNumber) -> Bool { state { $0.isHeld(number) } }

  /// Begins a cut, and returns its instant and what is pending then. Databases and logs are saved at that instant.
  /// `mark` records the cut in the journal; if it throws, the cut has not begun.
  package func freeze(
    isOverdue: Bool = false, _ mark: () throws(StoreError) -> Void
  ) throws(StoreError) -> (stamp: ChangeStamp, overlay: Overlay) {
    try writing.withLock { _ throws(StoreError) in
      let (time, tick) = (Attributes.Time.now, SystemClock.monotonic())
      let (isOverdue, due, changesPatterns) = state { state in
        let isOverdue = isOverdue || state.activity.isOverdue(at: tick)
        let saves = state.saves(isOverdue: isOverdue).map { Change(time: time, $0) }
        return (isOverdue, saves, state.overlay.changesPatterns(saves))
      }
      let saves = changesPatterns ? try withScratchMoves(due) : due
      if !saves.isEmpty {
        try journal.append(saves, mayUseReserve: true)
        state { state in for change in saves { state.apply(change) } }
      }
      try mark()
      return state { state in
        let stamp = state.overlay.beginCut()
        state.frozen = state.overlay
        state.activity.beginCut(hasUnsaved: state.hasUnsavedOfNames, isOverdue: isOverdue)
        return (stamp, state.overlay)
      }
    }
  }

  /// Ends a cut without a version: everything stays pending. `hasFailed` is false if there was nothing to take; no
  /// later cut looks at the ignored names `aside` until they change; `settle` records the end. Returns what was
  /// pending before and is now.
  package func abandonCut(
    hasFailed: Bool = true, aside: Set<InodeName> = [], _ settle: (OverlayEdits) -> Void
  ) -> (before: Overlay, after: Overlay) {
    writing.withLock { _ in
      let before = state { $0.overlay }
      var after = before
      do throws(StoreError) {
        try after.abandonCut(over: base, aside: aside)
      } catch {
        // The next cut takes over this one's list.
      }
      settle(OverlayEdits(from: before, to: after))
      state { state in
        state.overlay = after
        state.frozen = nil
        if hasFailed { state.activity.noteTakeable() }
      }
      return (before, after)
    }
  }

  /// Notes that an abandoned cut is still overdue.
  package func noteOverdue() { state { $0.activity.resume() } }

  package var removedDirectories: [InodeNumber] { state { Array($0.removed.keys) } }

  /// Returns the old and new names of renames since a head was shown that the kernel was not notified of, and begins
  /// to collect again. Once there are none, the kernel knows all.
  package func takeMoved() -> [(from: InodeName, to: InodeName)] {
    state { state in
      let moved = state.moved ?? []
      state.moved = moved.isEmpty ? nil : []
      return moved
    }
  }

  /// Shows another head. No call changes the tree concurrently, and none reads it once the rows change.
  ///
  /// `forgetsReaders` is true for a switch to another history. `body` gets what is pending, and a closure to call
  /// before the rows are shown, which returns the readers of names; it returns what is pending over the head.
  ///
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
        for name in new.replaced {
          state.writers.bringBack(name.name, name.after, isSame: name.alike.contains)
          state.writers.leaveBehind(name.name, name.before, on: name.epoch)
        }
        state.writers.lose(new.lost)
        state.writers.find(new.found)
        if forgetsReaders { state.writers.forgetAll() }
        state.moved = new.isNoticed ? [] : nil
        state.show(new.overlay, epochs: new.epochs, removed: new.removed)
      }
      return (before, new.overlay)
    }
  }
}

/// The names that processes read, while a head is being shown. Later opens wait for the head, so none is missed.
package struct SeenNames {
  private let tree: WorkingTree
  fileprivate init(_ tree: WorkingTree) { self.tree = tree }

  /// Returns the epochs of the versions that processes saw last at a name; nil if none read the name or its file.
  package func epochs(at name: InodeName, _ number: InodeNumber?) -> Set<Epoch>? {
    tree.state { $0.writers.knows(name, number) ? $0.writers.epochs(at: name) : nil }
  }

  /// The paths of directories that earlier heads removed and in which processes are behind.
  package var lost: [TreePath] { tree.state { Array($0.writers.lost.keys) } }
}

/// What the tree shows with another head.
package struct ShownHead {
  package var overlay: Overlay
  /// The versions of new epochs, by the store's numbers.
  package var epochs: [Epoch: UInt32]
  /// The names that processes read and that now show something else.
  package var replaced: [ReplacedName]
  /// The directories that lost their names.
  package var removed: [InodeNumber: PendingNode]
  /// True if the kernel may be notified of names.
  package var isNoticed = false
  package var lost: [TreePath: InodeNumber] = [:]
  /// The directories now at the paths of those and of ``SeenNames/lost``.
  package var found: [TreePath: InodeNumber] = [:]
}
