import LLVSCore

/// The notes of a store about bundles, at this remote and others, as one exchange knows them.
/// For a store that is only read they last as long as the exchange.
struct BundleNotes: Sendable {
  private(set) var bundles: [BundleName: NotedBundle] = [:]
  /// The runs of numbers of the versions in the bundles that were taken in, by the hashes of these.
  private(set) var taken: [Digest: [ClosedRange<UInt32>]] = [:]
  private var names: [Int64: BundleName] = [:]
  private var numbers: [BundleName: Int64] = [:]
  /// Notes that the next transaction writes too.
  private var unwritten: [BundleName: NotedBundle] = [:]
  /// The number of changes to the notes of the store that are known here.
  private var changes: UInt64 = 0
  typealias Change = (bundle: NotedBundle, items: [HeldItem]?)

  subscript(_ name: BundleName) -> NotedBundle? { bundles[name] }
  func name(of number: Int64) -> BundleName? { names[number] }
  func number(of name: BundleName) -> Int64? { numbers[name] }
  var areWritten: Bool { unwritten.isEmpty }

  /// Keeps a memory for the next exchange of this process until the notes change.
  func remember(_ memory: any Sendable, in store: Store) {
    store.catalog.remoteLedger.remember(memory, since: changes)
  }

  /// Returns true if no one else has changed the notes of the store since they were read.
  func isCurrent(_ store: Store) -> Bool { store.catalog.remoteLedger.changes == changes }

  func states(at place: String) -> [BundleName: [Int64]] {
    bundles.filter { $0.value.facts.place == place }
      .mapValues { [$0.state.rawValue, $0.put, $0.announced] }
  }

  /// Reads the notes again; unwritten ones stay.
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
    (names, numbers) = ([:], [:])
    for (number, note) in rows {
      guard let noted = NotedBundle(note) else { continue }
      bundles[noted.name] = noted
      (names[number], numbers[noted.name]) = (noted.name, number)
    }
    bundles.merge(unwritten) { $1 }
  }

  mutating func setLater(_ noted: NotedBundle) {
    bundles[noted.name] = noted
    unwritten[noted.name] = noted
  }

  mutating func writeRest(to store: Store) throws(StoreError) {
    guard !unwritten.isEmpty else { return }
    try write([], versions: [], to: store)
  }

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
        transaction.note(.set(bundle.note, items: items.map { $0.map(\.row) }))
      }
      for (hash, numbers) in versions { transaction.note(bundle: hash, versions: numbers) }
    }
    unwritten = [:]
    let new = changes.map(\.bundle.name).filter { numbers[$0] == nil }
    guard !new.isEmpty || !versions.isEmpty else { return }
    let (found, runs) = try store.catalog.readView { (view) throws(StoreError) in
      let found = try new.map { (name) throws(StoreError) in try view.remoteNumber(name.text) }
      let runs = try versions.map { (hash, _) throws(StoreError) in
        try view.versions(inBundle: hash)
      }
      return (found, runs)
    }
    for case (let name, let number?) in zip(new, found) {
      (names[number], numbers[name]) = (name, number)
    }
    for ((hash, _), runs) in zip(versions, runs) { taken[hash] = runs }
  }

  mutating func remove(_ names: [BundleName], from store: Store) throws(StoreError) {
    guard store.mode == .writer, !names.isEmpty else { return }
    try writing(store) { (transaction) throws(StoreError) in
      for name in names { transaction.note(.remove(name.text)) }
    }
    for name in names {
      bundles[name] = nil
      if let number = numbers.removeValue(forKey: name) { self.names[number] = nil }
    }
  }

  /// Runs a transaction that does not count as a change by someone else.
  private mutating func writing(
    _ store: Store, _ body: (WriteTransaction) throws(StoreError) -> Void
  ) throws(StoreError) {
    let before = store.catalog.remoteLedger.changes
    try store.write { (transaction) throws(StoreError) in try body(transaction) }
    let isAlone = before == changes && store.catalog.remoteLedger.changes == before + 1
    if isAlone { changes = before + 1 }
  }
}
