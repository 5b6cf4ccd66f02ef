import LLVSCore
import ObjectStores

/// Which versions are in which bundles, and what there is to tell about bundles.
extension BundleSession {
  /// Returns the bundles that can be read, of which some version is not in the store or was never
  /// compared with it.
  func unread() throws(StoreError) -> [BundleName] {
    try noteRepeated()
    return listing.names.filter { name in
      notes.taken[name.hash] == nil && seen.faults[name] == nil && !seen.gone.contains(name)
    }
  }

  /// Notes the bundles that hold again what other bundles of their writer held, all of whose versions
  /// are in the store: their outlines need not be read.
  private func noteRepeated() throws(StoreError) {
    guard store.mode == .writer else { return }
    let new = listing.names.filter { name in
      notes.taken[name.hash] == nil && notes[name]?.facts.from.isEmpty == false
    }
    guard !new.isEmpty else { return }
    var bySequence: [String: [UInt64: BundleName]] = [:]
    for name in notes.bundles.keys { bySequence[name.writer, default: [:]][name.sequence] = name }
    var found: [(Digest, [VersionNumber])] = []
    for name in new {
      guard let facts = notes[name]?.facts else { continue }
      var numbers: [VersionNumber] = []
      var isWhole = true
      for run in facts.from.runs where isWhole {
        for sequence in run {
          guard let old = bySequence[name.writer]?[sequence], let runs = notes.taken[old.hash]
          else {
            isWhole = false
            break
          }
          for run in runs { numbers += run.map { VersionNumber($0) } }
        }
      }
      if isWhole { found.append((name.hash, numbers)) }
    }
    try note([], versions: found)
  }

  /// Notes the bundles all of whose versions are in the store by now.
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

  /// Returns the numbers of the versions in some bundles, as far as they were taken in.
  func versions(in bundles: [BundleName]) -> NumberSet {
    var numbers = NumberSet()
    for name in bundles {
      for run in notes.taken[name.hash] ?? [] { numbers.insert(run) }
    }
    return numbers
  }

  /// Returns the numbers of the versions in a bundle, in order; nil if it was not taken in.
  func versions(of name: BundleName) -> [VersionNumber]? {
    notes.taken[name.hash]?.flatMap { $0.map { VersionNumber($0) } }
  }

  // MARK: Reports

  /// The bundles that are not what they should be.
  var refused: [ExchangeReport.Fault] {
    seen.faults.sorted { $0.key < $1.key }.map {
      ExchangeReport.Fault(id: Version.ID($0.key.text), reason: $0.value.reason)
    }
  }

  /// The bundles that are torn, and those that should be there and are not.
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

  /// Returns the numbers of the versions in some bundles, each once, in order.
  func versionNumbers(in bundles: [BundleName]) -> [VersionNumber] {
    var numbers: Set<VersionNumber> = []
    for name in bundles { numbers.formUnion(versions(of: name) ?? []) }
    return numbers.sorted()
  }

  // MARK: Damage

  /// Reads every bundle whole, and returns those whose bytes are not those of their name or of their
  /// items.
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
