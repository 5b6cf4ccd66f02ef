import LLVSCore

extension BundleSession {
  /// Returns the readable bundles with versions that are not in the store or were never compared.
  func unread() throws(StoreError) -> [BundleName] {
    try noteRepeated()
    return listing.names.filter { name in
      notes.taken[name.hash] == nil && seen.faults[name] == nil && !seen.gone.contains(name)
        && notes[name].map(isUsable) == true
    }
  }

  /// Notes the bundles that only repeat bundles of their writer that were taken in whole.
  private func noteRepeated() throws(StoreError) {
    guard store.mode == .writer else { return }
    let new = listing.names.filter { name in
      notes.taken[name.hash] == nil && notes[name]?.facts.from.isEmpty == false
    }
    guard !new.isEmpty else { return }
    var bySequence: [String: [UInt64: BundleName]] = [:]
    for name in notes.bundles.keys { bySequence[name.writer, default: [:]][name.sequence] = name }
    let found = new.compactMap { name in
      versions(in: notes[name]?.facts.from, of: bySequence[name.writer] ?? [:])
        .map { (name.hash, $0) }
    }
    try note([], versions: found)
  }

  /// Returns the numbers of the versions in some bundles of a writer; nil unless all were taken in.
  private func versions(
    in sequences: SequenceRuns?, of bundles: [UInt64: BundleName]
  ) -> [VersionNumber]? {
    var numbers: [VersionNumber] = []
    for sequence in (sequences?.runs ?? []).joined() {
      guard let old = bundles[sequence], let known = versions(of: old) else { return nil }
      numbers += known
    }
    return numbers
  }
  func noteTaken(_ bundles: [BundleRemoteSource.Unread]) throws(StoreError) {
    guard store.mode == .writer, !bundles.isEmpty else { return }
    let whole = try store.catalog.readView { (view) throws(StoreError) in
      var whole: [(Digest, [VersionNumber])] = []
      for bundle in bundles {
        var numbers: [VersionNumber] = []
        for id in bundle.ids {
          guard let number = try view.number(of: id) else { break }
          numbers.append(number)
        }
        if numbers.count == bundle.ids.count { whole.append((bundle.name.hash, numbers)) }
      }
      return whole
    }
    try note([], versions: whole)
  }

  func versions(in bundles: [BundleName]) -> NumberSet {
    var numbers = NumberSet()
    for name in bundles {
      for run in notes.taken[name.hash] ?? [] { numbers.insert(run) }
    }
    return numbers
  }

  /// Returns the numbers of the versions in a bundle, in order; nil if they were not taken in.
  func versions(of name: BundleName) -> [VersionNumber]? {
    notes.taken[name.hash]?.flatMap { $0.map { VersionNumber($0) } }
  }

  /// The bundles that cannot be read, and that no other announces.
  var refused: [ExchangeReport.Fault] {
    let view = view()
    return seen.faults.sorted { $0.key < $1.key }.filter {
      !view.isAnnounced($0.key) && !view.isNeedless($0.key)
    }
    .map { name, found in
      var fault = fault(of: name, found.reason)
      let isLocked = found.reason.hasSuffix(BundleReader.locked)
      if found.reading == .unknown {
        fault.cause = isLocked ? BundleReader.locked : BundleReader.newer
      }
      let isPlain = found.reason.hasSuffix(BundleReader.notEncrypted)
      if isPlain { fault.cause = "not encrypted" }
      fault.hidesVersions = isLast(name, view) && !isPlain
      return fault
    }
  }

  /// The bundles that cannot be read, and that nothing there needs.
  var needless: Set<BundleName> {
    let view = view()
    return malformed.filter { !view.isAnnounced($0) && view.isNeedless($0) }
  }

  /// Returns true if no later bundle of a writer can be read. The versions of one refer to those of the earlier ones.
  private func isLast(_ name: BundleName, _ view: RemoteView) -> Bool {
    !view.names.contains { other in
      name < other && other.writer == name.writer && view.reading(of: other) == .read
    }
  }

  /// The bundles whose bytes were found wrong, and that no other announces.
  var damaged: [ExchangeReport.Fault] {
    let view = view()
    return view.names.filter {
      view.reading(of: $0) == .damaged && !view.isAnnounced($0) && !view.isFilled($0)
    }
    .map { fault(of: $0, "\($0.object): it is damaged") }
  }

  /// The bundles that are torn or missing, except those whose versions this store has.
  var reports: [ExchangeReport.Fault] {
    let known = Set(
      notes.bundles.keys.filter { isOwn($0) || notes.taken[$0.hash] != nil }
        .map { BundleNumber($0) })
    let view = view()
    let torn = listing.torn.compactMap { BundleName($0) }
      .filter { !known.contains(BundleNumber($0)) && !view.isNeedless($0) }
      .map { name in
        var fault = fault(of: name, "\(name.object): it is not whole")
        fault.cause = "not whole"
        fault.hidesVersions = isLast(name, view)
        return fault
      }
    let cut = Set(listing.torn.compactMap { BundleName($0) }.map { BundleNumber($0) })
    let missing = view.writers.flatMap { writer in
      view.missing(of: writer).map { BundleNumber(writer, $0) }.filter {
        !known.contains($0) && !view.isNeedless($0) && !cut.contains($0)
      }.map { number in
        ExchangeReport.Fault(
          id: Version.ID(number.text),
          reason: "bundle \(number.sequence) of \(writer) is not there", isObject: true,
          cause: "missing")
      }
    }
    return torn + missing
  }

  private func fault(of name: BundleName, _ reason: String) -> ExchangeReport.Fault {
    ExchangeReport.Fault(id: Version.ID(name.text), reason: reason, isObject: true)
  }

  /// Notes the bundles in which this exchange read something wrong.
  func noteFoundDamage() throws(StoreError) {
    for name in open.frames.takeDamaged() where seen.listed.contains(name) {
      guard notes[name]?.state.contains(.damaged) == false, let reason = try damage(of: name) else {
        continue
      }
      try noteDamage(of: name, reason)
    }
  }
}
