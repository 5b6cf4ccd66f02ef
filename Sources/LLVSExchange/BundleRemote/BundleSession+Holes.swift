import LLVSCore

extension BundleSession {
  /// Returns the bundles that were at the remote, or are needed there, and cannot be read.
  ///
  /// Bundles that their writer announced are no holes, and neither are other writers' needless ones. If there are none,
  /// all that was sent can be read whole.
  func holes() -> Set<BundleNumber> {
    let view = view()
    var holes = Set(lost(in: view).map { BundleNumber($0) })
    func add(_ number: BundleNumber) {
      guard !view.isGone(number.writer, number.sequence),
        isKept(number.writer) || !view.isNeedless(number)
      else { return }
      holes.insert(number)
    }
    for writer in view.writers {
      for sequence in view.missing(of: writer) { add(BundleNumber(writer, sequence)) }
    }
    // This store's own are lost, junk, or announced by its next bundle.
    for name in malformed where !isKept(name.writer) && !view.isAnnounced(name) {
      add(BundleNumber(name))
    }
    for (_, need) in needs(of: view) where !view.isNeedless(BundleNumber(need)) {
      add(BundleNumber(need))
    }
    return holes
  }

  /// Returns sentences about holes that are none any more.
  func mended(since before: Set<BundleNumber>) -> [String] {
    let view = view()
    let mended = before.subtracting(holes())
    let unneeded = mended.filter { number in
      view.unneeded.contains(number) && !isKept(number.writer)
        && !view.isFilled(number.writer, number.sequence)
    }.count
    let filled = mended.count - unneeded
    return
      (filled > 0 ? ["\(filled) lost or damaged bundle\(filled == 1 ? "" : "s") replaced"] : [])
      + (unneeded > 0 ? [Self.unneeded(unneeded)] : [])
  }

  static func unneeded(_ count: Int) -> String {
    let (what, them) = count == 1 ? ("1 bundle", "it") : ("\(count) bundles", "them")
    return
      "\(what) there cannot be read, and nothing there needs \(them); a sync of the machine that wrote "
      + "\(them) replaces \(them)"
  }

  /// Returns what this store has to compare everything for: holes, what another writer could not read, what needs
  /// that, and bundles with versions whose bytes their writer has forgotten.
  func doubts() -> Set<String> {
    let view = view()
    var doubts = Set(holes().union(holesForOthers(view)).map(\.text))
    doubts.formUnion(lackingBytes(view).map(\.text))
    let readable = readable(in: view)
    let unneeded = view.unneeded.filter {
      !view.isGone($0.writer, $0.sequence) && !readable.contains($0)
    }
    doubts.formUnion(unneeded.map(\.text))
    guard !unneeded.isEmpty else { return doubts }
    for (name, need) in needs(of: view) where unneeded.contains(BundleNumber(need)) {
      doubts.insert(name.text)
    }
    return doubts
  }

  /// True if bundles there have versions whose bytes their writer has forgotten.
  var lacksBytes: Bool { !lackingBytes(view()).isEmpty }

  private func lackingBytes(_ view: RemoteView) -> [BundleName] {
    view.names.filter { notes[$0]?.state.contains(.lacksBytes) == true && view.holds($0) }
  }

  /// Returns the needs of bundles that hold something, where the needed bundle does not.
  private func needs(of view: RemoteView) -> [(by: BundleName, need: BundleNeed)] {
    let names = view.names.filter(view.holds)
    let held = Set(names.map { BundleNeed($0) })
    return names.flatMap { name in
      (notes[name]?.facts.needs ?? []).filter { !held.contains($0) }.map { (name, $0) }
    }
  }

  /// The objects under the names of bundles that are none: damaged, or not whole.
  var malformed: Set<BundleName> {
    let faults = seen.faults.filter { $0.value.reading == .malformed }
    return Set(faults.keys).union(listing.torn.compactMap { BundleName($0) })
  }

  /// The bundles under the names that this store keeps that it never read or put, and that are none.
  var junk: [BundleName] {
    seen.faults.filter { name, fault in
      fault.reading == .malformed && isKept(name.writer) && notes[name] == nil
    }.map(\.key)
  }

  /// Returns the noted bundles that were here, were not announced, and hold nothing now: lost, torn or damaged. Junk
  /// under this store's name, which it never put, is one of them.
  func lost(in view: RemoteView) -> [BundleName] {
    let said = Set(ownStatements.filter(\.isUnneeded).map { BundleNumber($0) })
    func isMissed(_ noted: NotedBundle) -> Bool {
      let number = BundleNumber(noted.name)
      guard !isKept(number.writer) else { return true }
      guard !view.isFilled(noted.name) else { return false }
      // Another store does not know what this one read.
      return !view.unneeded.contains(number)
        || noted.state.contains(.read) && !said.contains(number)
    }
    let noted = notes.bundles.values.filter { noted in
      guard noted.facts.place == options.place, !noted.state.contains(.removed),
        isOwn(noted.name) || !noted.state.contains(.named)
      else { return false }
      let wasHere = noted.state.contains(.named) ? [.put, .seen] : NotedBundle.State.read
      let isHere = seen.listed.contains(noted.name) || listing.torn.contains(noted.name.text)
      return (isHere || !noted.state.isDisjoint(with: wasHere)) && !view.holds(noted.name)
        && !view.isAnnounced(noted.name) && isMissed(noted)
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
    let (readable, others) = (readable(in: view), viewOfOthers(view))
    return ownStatements.filter { need in
      guard !others.isGone(need.writer, need.sequence) else { return false }
      return !need.isUnneeded
        || !view.isFilled(need.writer, need.sequence) && !readable.contains(BundleNumber(need))
    }
  }

  private func readable(in view: RemoteView) -> Set<BundleNumber> {
    Set(view.names.filter(view.holds).map { BundleNumber($0) })
  }

  private var ownStatements: [BundleNeed] {
    notes.bundles.values.filter { isOwn($0.name) && $0.facts.place == options.place }
      .flatMap(\.facts.filled)
  }

  /// Returns other writers' holes whose contents this store does not know, if it has all versions that can be read
  /// there.
  private func unneededHoles(_ view: RemoteView) -> Set<BundleNumber> {
    let held = view.names.filter(view.holds)
    guard held.allSatisfy({ notes.taken[$0.hash] != nil }) else { return [] }
    // What is damaged and was never applied is as unknown as what was never read.
    let others = lostOfOthers(in: view).filter {
      notes.taken[$0.hash] == nil && view.reading(of: $0) != .damaged
    }
    // A bundle that is not encrypted is whole, and stays refused.
    let plain = seen.faults.filter { $0.value.reason.hasSuffix(BundleReader.notEncrypted) }.keys
    let lacking = Set((others + plain).map { BundleNumber($0) })
    return holes().union(holesForOthers(view)).filter {
      // A stranger's name may have a number that no bundle can state.
      !isKept($0.writer) && !lacking.contains($0) && $0.sequence <= SequenceRuns.greatest
    }
  }

  /// The remote as a store sees it that never read it before: what a damaged bundle says is not known.
  private func viewOfOthers(_ view: RemoteView) -> RemoteView {
    guard view.names.contains(where: { view.reading(of: $0) == .damaged }) else { return view }
    return RemoteView(
      bundlesThere().map { known in
        known.reading == .damaged ? KnownBundle(name: known.name, reading: .malformed) : known
      })
  }

  /// Returns true if there is more to say about holes, after a retrieval for example.
  func hasMoreToSay() throws(StoreError) -> Bool {
    !areSaid(try filled(with: nil, view(), isAll: true), view())
  }

  /// Returns true if bundles that such a store can read make these statements.
  func areSaid(_ needs: [BundleNeed], _ view: RemoteView) -> Bool {
    let view = viewOfOthers(view)
    return needs.allSatisfy { need in
      need.isUnneeded
        ? view.unneeded.contains(BundleNumber(need)) : view.isFilled(need.writer, need.sequence)
    }
  }

  /// Returns other writers' bundles that such a store would miss.
  private func holesForOthers(_ view: RemoteView) -> Set<BundleNumber> {
    let view = viewOfOthers(view)
    let malformed = view.names.filter { view.reading(of: $0) == .malformed }
    let torn = listing.torn.compactMap { BundleName($0) }
    var holes = Set(
      (malformed + torn).filter { !view.isAnnounced($0) && !view.isNeedless($0) }
        .map { BundleNumber($0) })
    for writer in view.writers {
      for sequence in view.missing(of: writer) {
        let number = BundleNumber(writer, sequence)
        if !view.isGone(writer, sequence), !view.isNeedless(number) { holes.insert(number) }
      }
    }
    return holes.filter { !isKept($0.writer) }
  }

  /// True if the next bundle may name filled ones.
  func mayFill(_ view: RemoteView) -> Bool {
    !named(view).isEmpty || !lostOfOthers(in: view).isEmpty
  }

  /// Returns other writers' bundles that are lost or damaged, and whose contents bundles that count hold, or `bundle`
  /// does; and those that this store named so before. `isAll` is true once all that this store has was put.
  func filled(
    with bundle: OutgoingBundle?, _ view: RemoteView, isAll: Bool
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
    if isAll {
      let known = Set(filled.map { BundleNumber($0) })
      let rest = unneededHoles(view).subtracting(known)
      filled.formUnion(rest.map { BundleNeed(unneeded: $0) })
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
