import LLVSCore
import ObjectStores

extension BundleSession {
  /// Returns the readable bundles with versions that are not in the store or were never compared.
  func unread() throws(StoreError) -> [BundleName] {
    try noteRepeated()
    return listing.names.filter { name in
      notes.taken[name.hash] == nil && seen.faults[name] == nil && !seen.gone.contains(name)
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

  var refused: [ExchangeReport.Fault] {
    seen.faults.sorted { $0.key < $1.key }.map {
      ExchangeReport.Fault(id: Version.ID($0.key.text), reason: $0.value.reason)
    }
  }

  var reports: [ExchangeReport.Fault] {
    let torn = listing.torn.map { name in
      ExchangeReport.Fault(
        id: Version.ID(name), reason: "\(BundleFormat.folder)/\(name): it is not whole")
    }
    let view = view()
    let missing = view.writers.flatMap { writer in
      view.missing(of: writer).map { sequence in
        ExchangeReport.Fault(
          id: Version.ID("\(writer)-\(sequence)"),
          reason: "bundle \(sequence) of \(writer) is not there")
      }
    }
    return torn + missing
  }

  func versionNumbers(in bundles: [BundleName]) -> [VersionNumber] {
    var numbers: Set<VersionNumber> = []
    for name in bundles { numbers.formUnion(versions(of: name) ?? []) }
    return numbers.sorted()
  }

  func damaged() throws(StoreError) -> [ExchangeReport.Fault] {
    var found: [ExchangeReport.Fault] = []
    for name in listing.names where seen.faults[name] == nil && !seen.gone.contains(name) {
      try control.check()
      if let reason = try damage(of: name) {
        found.append(ExchangeReport.Fault(id: Version.ID(name.text), reason: reason))
      }
    }
    return found
  }

  /// Reads a bundle whole; returns what is wrong with it, nil if nothing is.
  func damage(of name: BundleName) throws(StoreError) -> String? {
    do throws(StoreError) {
      var hasher = SHA256Hasher()
      do throws(RemoteError) {
        try objects.get(name.object, range: nil) { piece in
          hasher.update(piece)
          return true
        }
      } catch {
        guard error.kind == .absent else { throw StoreError(error) }
        return "\(name.object): it is gone"
      }
      guard hasher.finish() == name.hash else {
        return "\(name.object): it is not what its name says"
      }
      let bundle = try opened(name)
      let table = try bundle.table()
      for number in table.items.indices {
        try control.check()
        _ = try bundle.item(number, in: table)
      }
      return nil
    } catch {
      guard case .invalid(let reason) = error else { throw error }
      return reason
    }
  }
}
