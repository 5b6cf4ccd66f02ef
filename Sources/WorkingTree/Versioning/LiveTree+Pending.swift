import Grammar
import LLVSCore
import Platform

// What is pending, and when a cut is due for it.

extension LiveTree {
  /// When an automatic cut is due next, and why; nil while nothing is pending.
  package func nextCut() -> (tick: UInt64, reason: CutReason)? {
    lock.withLock { _ in
      guard let firstPending else { return nil }
      let settle = settings.settle
      var quiet = hasTakeable ? lastActivity &+ settle : UInt64.max
      for node in unsavedNodes.values {
        guard let file = node.file, belongsToName(node) else { continue }
        let paused = file.lastWriteTick &+ (file.steady ? settle : Self.abandonedNanoseconds)
        quiet = min(quiet, max(paused, lastActivity &+ settle))
      }
      let overdue = firstPending &+ Self.abandonedNanoseconds
      return overdue < quiet ? (overdue, .overdue) : (quiet, .quiet)
    }
  }

  /// What is pending, for status: changed, new and removed names, and files with unsaved bytes.
  package struct Pending: Sendable {
    package var changed = 0
    package var new = 0
    package var removed = 0
    package var unsaved: [[UInt8]] = []
    /// The names of files that merges or switches gave to others, and that are saved all the same: the next
    /// version takes them as changes of those names.
    package var beside: [[UInt8]] = []
    /// When the next version is due, in nanoseconds from now; nil while nothing is pending.
    package var due: UInt64?
  }

  /// Counts what is pending.
  ///
  /// - Complexity: O(pending), in memory.
  package func pending() -> Pending {
    var result = lock.withLock { _ -> Pending in
      var result = Pending()
      count(root, at: [], &result)
      for node in unsavedNodes.values {
        if let path = node.path, !isScratch(node) { result.unsaved.append(path) }
      }
      countDetached(&result)
      return result
    }
    if let next = nextCut() {
      let now = SystemClock.monotonic()
      result.due = next.tick > now ? next.tick - now : 0
      // It is marked then, and made when what it marked had its quiet.
      if next.reason == .overdue { result.due? += lock.withLock { _ in settings.settle } }
    }
    return result
  }

  private func countDetached(_ result: inout Pending) {
    for detached in detachedNodes.values where !isGivenAway(detached) {
      guard let file = detached.node.file, let path = path(of: detached) else { continue }
      if file.unsaved { result.unsaved.append(path) }
      if let saved = file.saved, saved.takenIn == nil, !saved.isUnreadable {
        result.beside.append(path)
      }
    }
    result.beside.sort { $0.lexicographicallyPrecedes($1) }
  }

  private func count(_ node: LiveNode, at path: [UInt8], _ result: inout Pending) {
    for (name, override) in node.directory?.overrides ?? [:] {
      guard let child = override.node else {
        if override.hidesBase { result.removed += 1 }
        continue
      }
      let childPath = path.isEmpty ? name : path + [0x2F] + name
      if isIgnored(child, override, at: childPath) { continue }
      if !child.isInBase, child.directory?.basePath == nil {
        // A file that was renamed over another is a change of that one.
        if override.hidesBase { result.changed += 1 } else { result.new += 1 }
      } else if isPending(child) {
        result.changed += 1
      }
      count(child, at: childPath, &result)
    }
  }
}
