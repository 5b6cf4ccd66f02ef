import LLVSCore

/// The notes of a store about bundles, at this remote and others, as one exchange knows them.
///
/// A store that is only read keeps for this exchange what it would have noted.
struct BundleNotes: Sendable {
  /// The notes by the names of the bundles.
  private(set) var bundles: [BundleName: NotedBundle] = [:]
  /// The runs of numbers of the versions in the bundles that were taken in, by the hashes of these.
  private(set) var taken: [Digest: [ClosedRange<UInt32>]] = [:]
  /// The names of the bundles by the numbers that the catalog gives them, and the other way round.
  private(set) var numbers = BundleNumbers()
  /// Notes that the next transaction writes too.
  private var unwritten: [BundleName: NotedBundle] = [:]
  /// The number of changes to the notes of the store that are known here.
  private var changes: UInt64 = 0

  /// A note to be written, with the bundle's items if its table is new.
  typealias Change = (bundle: NotedBundle, items: [BundleItem]?)

  subscript(_ name: BundleName) -> NotedBundle? { bundles[name] }

  /// True if nothing waits for the next transaction.
  var areWritten: Bool { unwritten.isEmpty }

  /// Lets the next exchange of this process have something, as long as the notes stay as they are.
  func remember(_ memory: any Sendable, in store: Store) {
    store.catalog.remoteLedger.remember(memory, since: changes)
  }

  /// Returns true if nobody else has changed the notes of the store since they were read.
  func isCurrent(_ store: Store) -> Bool { store.catalog.remoteLedger.changes == changes }

  /// Returns what the store did with the bundles of a place, and knows of them.
  func states(at place: String) -> [BundleName: [Int64]] {
    bundles.filter { $0.value.facts.place == place }
      .mapValues { [$0.state.rawValue, $0.put, $0.announced] }
  }

  // MARK: Reading

  /// Reads the notes again; what is not written yet stays.
  mutating func read(_ store: Store) throws(StoreError) {
    // A commit after this number was read is seen as a change later.
    changes = store.catalog.remoteLedger.changes
    let rows: [(number: Int64, note: RemoteBundleNote)]
    (rows, taken) = try store.catalog.readView { (view) throws(StoreError) in
      (
        try view.remoteBundles(),
        try view.versionsOfBundles()
      )
    }
    bundles = [:]
    bundles.reserveCapacity(rows.count)
    numbers = BundleNumbers()
    for (number, note) in rows {
      guard let noted = NotedBundle(note) else { continue }
      bundles[noted.name] = noted
      numbers.add(noted.name, number)
    }
    bundles.merge(unwritten) { $1 }
  }

  // MARK: Writing

  /// Changes a note, which the next transaction writes.
  mutating func setLater(_ noted: NotedBundle) {
    bundles[noted.name] = noted
    unwritten[noted.name] = noted
  }

  /// Writes what was to be written later.
  mutating func writeRest(to store: Store) throws(StoreError) {
    guard !unwritten.isEmpty else { return }
    try write([], versions: [], to: store)
  }

  /// Writes notes, and which versions are in some bundles.
  mutating func set(
    _ changes: [Change], versions: [(Digest, [VersionNumber])], in store: Store
  ) throws(StoreError) {
    guard !changes.isEmpty || !versions.isEmpty else { return }
    for (bundle, _) in changes {
      bundles[bundle.name] = bundle
      unwritten[bundle.name] = nil
    }
    try write(changes, versions: versions, to: store)
  }

  private mutating func write(
    _ changes: [Change], versions: [(Digest, [VersionNumber])], to store: Store
  ) throws(StoreError) {
    guard store.mode == .writer else { return }
    let waiting = unwritten.values
    try writing(store) { (transaction) throws(StoreError) in
      for noted in waiting { transaction.note(.set(noted.note, items: nil)) }
      for (bundle, items) in changes {
        transaction.note(.set(bundle.note, items: items.map { $0.map(\.key) }))
      }
      for (hash, numbers) in versions { transaction.note(bundle: hash, versions: numbers) }
    }
    unwritten = [:]
    let new = changes.map(\.bundle.name).filter { numbers.number(of: $0) == nil }
    guard !new.isEmpty || !versions.isEmpty else { return }
    let (found, runs) = try store.catalog.readView { (view) throws(StoreError) in
      let found = try new.map { (name) throws(StoreError) in try view.remoteNumber(name.text) }
      let runs = try versions.map { (hash, _) throws(StoreError) in
        try view.versions(inBundle: hash)
      }
      return (found, runs)
    }
    for case (let name, let number?) in zip(new, found) { numbers.add(name, number) }
    for ((hash, _), runs) in zip(versions, runs) { taken[hash] = runs }
  }

  /// Removes notes.
  mutating func remove(_ names: [BundleName], from store: Store) throws(StoreError) {
    guard store.mode == .writer, !names.isEmpty else { return }
    try writing(store) { (transaction) throws(StoreError) in
      for name in names { transaction.note(.remove(name.text)) }
    }
    for name in names {
      bundles[name] = nil
      numbers.remove(name)
    }
  }

  /// Runs a transaction, which is no change by somebody else.
  private mutating func writing(
    _ store: Store, _ body: (WriteTransaction) throws(StoreError) -> Void
  ) throws(StoreError) {
    let before = store.catalog.remoteLedger.changes
    try store.write { (transaction) throws(StoreError) in try body(transaction) }
    let isAlone = before == changes && store.catalog.remoteLedger.changes == before + 1
    if isAlone { changes = before + 1 }
  }
}
