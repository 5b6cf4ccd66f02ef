import LLVSCore
import Synchronization
import TreeNames
import WorkingTree

// `conflicts/PATH/merged`: computed when it is read, edited in memory.

extension MetaTree {
  func knownPlace(of path: [UInt8]) -> WritablePlace? {
    conflicts.state.withLock { $0.places[path] }
  }

  /// Returns the place in which a conflict's merged text is edited; nil above conflicts.
  func mergedPlace(of path: [UInt8]) throws(FSError) -> WritablePlace? {
    if let known = knownPlace(of: path) { return known }
    let isOpen = try shownConflicts(atOrBelow: path).contains {
      $0.path == path && !$0.conflict.theirs.isEmpty
    }
    guard isOpen else { return nil }
    let merged = WritablePlace.MergedText(
      text: { [weak self] () throws(FSError) in try self?.mergedText(of: path) },
      put: { [weak self] (bytes, seen) throws(FSError) in
        try self?.put(bytes, at: path, seen: seen) ?? false
      })
    let nodes = self.nodes
    let place = WritablePlace(
      .merged(merged), services: services, live: live, budget: conflicts.budget
    ) { nodes.allot() }
    let idle = conflicts.state.withLock { state in
      state.places.count < ConflictDirectories.placeLimit ? [:] : state.places
    }
    let dropped = idle.filter { !$0.value.isBusy }.keys
    var left: [WritablePlace] = []
    defer { for place in left { place.leave() } }
    return try conflicts.state.withLock { state throws(FSError) -> WritablePlace in
      if let known = state.places[path] { return known }
      for path in dropped {
        if let place = state.places.removeValue(forKey: path) { left.append(place) }
      }
      guard state.places.count < ConflictDirectories.placeLimit else { throw .noSpace }
      state.places[path] = place
      return place
    }
  }

  func mergedChild(of path: [UInt8], named name: [UInt8]) throws(FSError) -> Found? {
    guard let place = try mergedPlace(of: path), let file = try place.find(name) else {
      return nil
    }
    return Found(.writable(file))
  }

  /// Returns the merge of a conflict with markers; nil if a side is absent, forgotten or no text.
  private func mergedText(of path: [UInt8]) throws(FSError) -> [UInt8]? {
    let head = live.shownHead
    let shown = try shownConflicts(atOrBelow: path).first { $0.path == path }
    guard let conflict = shown?.conflict else { return nil }
    let known = conflicts.state.withLock { $0.mergedHead == head ? $0.merged[path] : nil }
    if let known { return known }
    let text = try FSError.wrapping { () throws(StoreError) -> [UInt8]? in
      do throws(StoreError) {
        return try ConflictTexts(conflict, in: store)?.marked
      } catch {
        guard error.isForgotten else { throw error }
        return nil
      }
    }
    conflicts.state.withLock { state in
      // Only a few are kept.
      if state.mergedHead != head || state.merged.count >= 64 || (text?.count ?? 0) > 1 << 20 {
        state.merged = [:]
      }
      state.mergedHead = head
      state.merged[path] = text
    }
    return text
  }

  /// Settles with a text; false, without effect, while it contains markers.
  private func put(
    _ bytes: [UInt8], at path: [UInt8], seen: VersionNumber?
  ) throws(FSError) -> Bool {
    let shown = try shownConflicts(atOrBelow: path).first { $0.path == path }
    if let shown {
      let texts = try FSError.translating(try ConflictTexts(shown.conflict, in: store))
      if texts?.areMarkersLeft(in: bytes) ?? TextMerge.holdsMarkers(bytes, besides: []) {
        return false
      }
    }
    try services.settle(path, with: bytes, seen: seen)
    return true
  }
}
