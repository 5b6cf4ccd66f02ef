extension BundleSession {
  /// Returns the bundles that were at the remote, or are needed there, and cannot be read: by writer and number.
  ///
  /// Bundles that their writer announced are no holes. If there are none, all that was sent can be read whole.
  func holes() -> Set<String> {
    let view = view()
    var holes = Set(lost(in: view).map { "\($0.writer)-\($0.sequence)" })
    for writer in view.writers {
      for sequence in view.missing(of: writer) where !view.isGone(writer, sequence) {
        holes.insert("\(writer)-\(sequence)")
      }
    }
    for (name, fault) in seen.faults where fault.reading == .malformed && !view.isAnnounced(name) {
      holes.insert("\(name.writer)-\(name.sequence)")
    }
    let held = Set(view.names.filter(view.holds).map { BundleNeed($0) })
    for name in view.names where view.holds(name) {
      for need in notes[name]?.facts.needs ?? []
      where !held.contains(need) && !view.isGone(need.writer, need.sequence) {
        holes.insert("\(need.writer)-\(need.sequence)")
      }
    }
    return holes
  }

  /// The bundles under this store's name that it never put, and that are none.
  var junk: [BundleName] {
    seen.faults.filter { name, fault in
      fault.reading == .malformed && isOwn(name) && notes[name] == nil
    }.map(\.key)
  }

  /// Returns the noted bundles that were here, were not announced, and hold nothing now: lost, torn or damaged. Junk
  /// under this store's name, which it never put, is one of them.
  func lost(in view: RemoteView) -> [BundleName] {
    let noted = notes.bundles.values.filter { noted in
      guard noted.facts.place == options.place, !noted.state.contains(.removed),
        isOwn(noted.name) || !noted.state.contains(.named)
      else { return false }
      let wasHere = noted.state.contains(.named) ? [.put, .seen] : NotedBundle.State.read
      let isHere = seen.listed.contains(noted.name) || listing.torn.contains(noted.name.text)
      return (isHere || !noted.state.isDisjoint(with: wasHere)) && !view.holds(noted.name)
        && !view.isAnnounced(noted.name)
    }
    return noted.map(\.name) + junk.filter { !view.isAnnounced($0) }
  }
}
