import LLVSCore

extension BundleSession {
  /// Returns the bundles that were at the remote, or are needed there, and cannot be read: by writer and number.
  ///
  /// Bundles that their writer announced are no holes, and neither are other writers' filled ones. If there are none, all that was sent can be read whole.
  func holes() -> Set<String> {
    let view = view()
    var holes = Set(lost(in: view).map { "\($0.writer)-\($0.sequence)" })
    for writer in view.writers {
      let isKept = isKept(writer)
      for sequence in view.missing(of: writer)
      where !view.isGone(writer, sequence) && (isKept || !view.isFilled(writer, sequence)) {
        holes.insert("\(writer)-\(sequence)")
      }
    }
    for (name, fault) in seen.faults
    where fault.reading == .malformed && !view.isAnnounced(name)
      && (isKept(name.writer) || !view.isFilled(name))
    {
      holes.insert("\(name.writer)-\(name.sequence)")
    }
    let held = Set(view.names.filter(view.holds).map { BundleNeed($0) })
    for name in view.names where view.holds(name) {
      for need in notes[name]?.facts.needs ?? []
      where !held.contains(need) && !view.isGone(need.writer, need.sequence)
        && !view.isFilled(need.writer, need.sequence)
      {
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
        && (isKept(noted.name.writer) || !view.isFilled(noted.name))
    }
    return noted.map(\.name) + junk.filter { !view.isAnnounced($0) }
  }

  /// True for this store and the writers whose bundles it keeps.
  private func isKept(_ writer: String) -> Bool {
    writer == self.writer || adopted.contains(writer)
  }

  /// Other writers' lost or damaged bundles whose contents this store knows.
  private func lostOfOthers(in view: RemoteView) -> [BundleName] {
    lost(in: view).filter { name in
      !isKept(name.writer) && notes[name]?.state.contains(.read) == true
    }
  }

  /// The filled bundles that this store's bundles name and their writers have not announced.
  private func named(_ view: RemoteView) -> [BundleNeed] {
    notes.bundles.values.filter { isOwn($0.name) && $0.facts.place == options.place }
      .flatMap(\.facts.filled)
      .filter { !view.isGone($0.writer, $0.sequence) }
  }

  /// True if the next bundle may name filled ones.
  func mayFill(_ view: RemoteView) -> Bool {
    !named(view).isEmpty || !lostOfOthers(in: view).isEmpty
  }

  /// Returns other writers' bundles that are lost or damaged, and whose contents bundles that count hold, or `bundle`
  /// does; and those that this store named so before.
  func filled(
    with bundle: OutgoingBundle?, _ view: RemoteView
  ) throws(StoreError) -> [BundleNeed] {
    var filled = Set(named(view))
    let lost = lostOfOthers(in: view)
    let there = lost.isEmpty ? NumberSet() : versions(in: view.names.filter(view.counts))
    let coming = Set(bundle?.versions.map(\.number) ?? [])
    for name in lost {
      guard let versions = versions(of: name),
        versions.allSatisfy({ there.contains($0) || coming.contains($0) }),
        try holdsItems(of: name, with: bundle, view)
      else { continue }
      filled.insert(BundleNeed(name))
    }
    let sorted = filled.sorted { ($0.writer, $0.sequence) < ($1.writer, $1.sequence) }
    return Array(sorted.prefix(BundleFormat.maximumNeeds))
  }

  /// True if bundles that count hold all items of one, or `bundle` does.
  private func holdsItems(
    of name: BundleName, with bundle: OutgoingBundle?, _ view: RemoteView
  ) throws(StoreError) -> Bool {
    for held in try items(of: name) {
      if let writer = bundle?.writer,
        held.isPatch ? writer.number(of: held.item) != nil : writer.isWhole(held.item)
      {
        continue
      }
      // Whole items may be bases.
      let fit = try holders(of: held.item).filter { held.isPatch || !$0.isPatch }
      guard fit.contains(where: { view.counts($0.name) }) else { return false }
    }
    return true
  }
}
