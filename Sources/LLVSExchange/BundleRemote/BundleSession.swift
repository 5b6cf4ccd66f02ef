import LLVSCore
import ObjectStores
internal import Platform
internal import Synchronization

/// One exchange with a remote of bundles: what a list showed, and what is known of each bundle.
///
/// INVARIANT X4: what a bundle says is noted in the catalog only after its directory, table and outline
///   were read and found whole.
///
/// - Concurrency: for one thread at a time; ``opened(_:)`` and ``holders(of:)`` for several.
final class BundleSession {
  let store: Store
  let objects: any ObjectStore
  let options: BundleRemote.Options
  private(set) var control: ExchangeControl
  let frames = FrameCache()
  let parts = RemoteBytes.Cache()
  private(set) var listing: BundleListing
  /// The notes about bundles, those at other remotes too.
  private(set) var notes: [BundleName: NotedBundle] { didSet { known = nil } }
  /// The names of noted bundles by the numbers that the catalog gives them, and the other way round.
  private var names = BundleNumbers()
  /// The runs of numbers of the versions in the bundles that were taken in, by the hashes of these.
  private(set) var taken: [Digest: [ClosedRange<UInt32>]] = [:]
  /// Notes that the next transaction writes too.
  private var unwritten: [BundleName: NotedBundle] = [:]
  /// The number of changes to the notes of this store that this session knows.
  private var changes: UInt64 = 0
  /// The bundles that could not be read, and why.
  private(set) var faults: [BundleName: (reading: KnownBundle.Reading, reason: String)] = [:] {
    didSet { known = nil }
  }
  /// The bundles that were listed and are gone.
  private(set) var gone: Set<BundleName> = [] { didSet { known = nil } }
  /// The remote as it was seen last; nil once something is new.
  private var known: RemoteView?
  /// The bundles that were opened last, the newest last; a leaf lock.
  private let readers = Mutex<[OpenedBundle]>([])
  private static let keptReaders = 64
  /// The bundles that a list shows.
  private(set) var listed: Set<BundleName> { didSet { known = nil } }
  /// The bundles that were put after the list.
  private var putSinceListed: Set<BundleName> = [] { didSet { known = nil } }

  /// Lists the remote, and reads what is new of it.
  ///
  /// - Throws: ``StoreError/unreachable(_:)``, ``StoreError/cancelled``, or an error of this store.
  init(
    _ store: Store, _ objects: any ObjectStore, _ options: BundleRemote.Options,
    _ control: ExchangeControl
  ) throws(StoreError) {
    self.store = store
    self.objects = objects
    self.options = options
    self.control = control
    control.report(.listing, 0, of: 0)
    listing = try BundleListing(objects, clock: options.clock)
    listed = Set(listing.names)
    notes = [:]
    try loadNotes()
    try takeIn()
    try stopAtEncrypted()
    noteSeen()
    try forgetGone()
  }

  /// Goes on with what the list showed, in another step of the same command.
  ///
  /// - Returns: false if the list is too old, or if another command has used this place meanwhile.
  func resume(_ control: ExchangeControl) throws(StoreError) -> Bool {
    self.control = control
    guard options.send.mayPut(listedAt: listing.asked, now: options.clock.boottime()) else {
      return false
    }
    guard store.catalog.remoteLedger.changes != changes else { return true }
    let before = notesHere
    try loadNotes()
    return before == notesHere
  }

  /// What this store did with the bundles of this place, and knows of them.
  private var notesHere: [BundleName: [Int64]] {
    notes.filter { $0.value.facts.place == options.place }
      .mapValues { [$0.state.rawValue, $0.put, $0.announced] }
  }

  /// Notes which of this store's own bundles a list has shown: one that no list shows afterwards is gone.
  private func noteSeen() {
    for name in listing.names {
      guard var noted = notes[name], noted.state.contains(.put), !noted.state.contains(.seen) else {
        continue
      }
      noted.state.insert(.seen)
      notes[name] = noted
      unwritten[name] = noted
    }
  }

  /// Writes what is to be noted and was not written yet.
  func settle() throws(StoreError) {
    guard !unwritten.isEmpty else { return }
    try write([], versions: [])
  }

  /// Drops the notes of other writers' bundles that stood here and are gone.
  private func forgetGone() throws(StoreError) {
    guard store.mode == .writer else { return }
    let lost = notes.values.filter { noted in
      noted.facts.place == options.place && !listed.contains(noted.name)
        && !noted.state.contains(.named)
    }
    guard !lost.isEmpty else { return }
    try writing { (transaction) throws(StoreError) in
      for noted in lost { transaction.note(.remove(noted.name.text)) }
    }
    for noted in lost {
      notes[noted.name] = nil
      names.remove(noted.name)
    }
  }

  /// Lists again, and reads what is new.
  func listAgain() throws(StoreError) {
    listing = try BundleListing(objects, clock: options.clock)
    listed = Set(listing.names)
    gone = []
    putSinceListed = []
    try takeIn()
  }

  private func loadNotes() throws(StoreError) {
    // What is committed after this number was read is seen as a change later.
    let changes = store.catalog.remoteLedger.changes
    let (rows, taken) = try store.catalog.readView { (view) throws(StoreError) in
      (
        try store.catalog.remoteBundles(in: view),
        try store.catalog.versionsOfBundles(in: view)
      )
    }
    self.changes = changes
    self.taken = taken
    var notes: [BundleName: NotedBundle] = [:]
    notes.reserveCapacity(rows.count)
    names = BundleNumbers()
    for (number, note) in rows {
      guard let noted = NotedBundle(note) else { continue }
      notes[noted.name] = noted
      names.add(noted.name, number)
    }
    notes.merge(unwritten) { $1 }
    self.notes = notes
  }

  /// Writes notes, with the items of those whose table is new.
  func note(
    _ changes: [(bundle: NotedBundle, items: [BundleItem]?)],
    versions: [(Digest, [VersionNumber])] = []
  ) throws(StoreError) {
    guard !changes.isEmpty || !versions.isEmpty else { return }
    for (bundle, _) in changes {
      notes[bundle.name] = bundle
      unwritten[bundle.name] = nil
    }
    try write(changes, versions: versions)
  }

  private func write(
    _ changes: [(bundle: NotedBundle, items: [BundleItem]?)],
    versions: [(Digest, [VersionNumber])]
  ) throws(StoreError) {
    // A store that is only read keeps them for this exchange.
    guard store.mode == .writer else { return }
    try writing { (transaction) throws(StoreError) in
      for noted in unwritten.values { transaction.note(.set(noted.note, items: nil)) }
      for (bundle, items) in changes {
        transaction.note(.set(bundle.note, items: items.map { $0.map(\.key) }))
      }
      for (hash, numbers) in versions { transaction.note(bundle: hash, versions: numbers) }
    }
    unwritten = [:]
    let new = changes.map(\.bundle.name).filter { names.number(of: $0) == nil }
    guard !new.isEmpty || !versions.isEmpty else { return }
    try store.catalog.readView { (view) throws(StoreError) in
      for name in new {
        guard let number = try store.catalog.remoteNumber(name.text, in: view) else { continue }
        names.add(name, number)
      }
      for (hash, _) in versions {
        taken[hash] = try store.catalog.versions(inBundle: hash, in: view)
      }
    }
  }

  /// Runs a transaction, which is no change by somebody else.
  private func writing(
    _ body: (WriteTransaction) throws(StoreError) -> Void
  ) throws(StoreError) {
    let before = store.catalog.remoteLedger.changes
    try store.write { (transaction) throws(StoreError) in try body(transaction) }
    let isAlone = before == changes && store.catalog.remoteLedger.changes == before + 1
    if isAlone { changes = before + 1 }
  }

  // MARK: What is there

  /// The name that this store writes under: its replica id, or another that it took when it met
  /// bundles of that name which it had not written.
  private(set) lazy var writer = options.writer ?? notedWriter() ?? store.replicaID

  /// Writes under another name from now on.
  func rename(_ name: String) {
    writer = name
    known = nil
  }

  func isOwn(_ name: BundleName) -> Bool { name.writer == writer }

  /// The remote as the list and this store's own PUTs show it.
  func view() -> RemoteView {
    if let known { return known }
    let view = RemoteView(bundlesThere())
    known = view
    return view
  }

  private func bundlesThere() -> [KnownBundle] {
    var known: [KnownBundle] = []
    for name in listing.names where !gone.contains(name) {
      if let noted = notes[name], isUsable(noted) {
        known.append(KnownBundle(name: name, claims: noted.facts.claims))
      } else {
        known.append(KnownBundle(name: name, reading: faults[name]?.reading ?? .malformed))
      }
    }
    for noted in notes.values where isUnlisted(noted) {
      known.append(KnownBundle(name: noted.name, claims: noted.facts.claims))
    }
    return known
  }

  /// Returns true for a bundle that was read, and that is encrypted if and only if this peer's are: the
  /// setting may have changed since.
  private func isUsable(_ noted: NotedBundle) -> Bool {
    noted.state.contains(.read) && noted.state.contains(.sealed) == (options.keys != nil)
  }

  /// Returns true for a bundle that this store put and no list shows yet.
  private func isUnlisted(_ noted: NotedBundle) -> Bool {
    guard noted.state.contains(.put), noted.state.isDisjoint(with: [.removed, .seen]),
      noted.facts.place == options.place, isOwn(noted.name), !listed.contains(noted.name)
    else { return false }
    // A directory shows at once what is in it.
    if objects.capabilities.contains(.isNear) { return putSinceListed.contains(noted.name) }
    return options.send.countsUnlisted(putAt: noted.put, now: options.clock.now())
  }

  /// Notes that a PUT was answered, for this exchange alone.
  func notePut(_ name: BundleName) { putSinceListed.insert(name) }

  /// Notes that a bundle cannot be read.
  func distrust(_ name: BundleName, _ reason: String) { faults[name] = (.malformed, reason) }

  /// Returns the items of a bundle, in the order in which they stand there.
  func items(of name: BundleName) throws(StoreError) -> [BundleItem] {
    guard let number = names.number(of: name) else { return [] }
    let rows = try store.catalog.readView { (view) throws(StoreError) in
      try store.catalog.items(inRemoteBundle: number, in: view)
    }
    return rows.compactMap { BundleItem(key: $0.item) }
  }

  /// Returns the bundles of which items are known, that hold an item, with its number in each.
  func holders(of item: BundleItem) throws(StoreError) -> [(name: BundleName, number: Int)] {
    let found = try store.catalog.readView { (view) throws(StoreError) in
      try store.catalog.bundles(holding: item.key, in: view)
    }
    return found.compactMap { place in names.name(of: place.number).map { ($0, place.place) } }
  }

  // MARK: Reading

  /// Reads the directories of bundles that were not read before. The bundles that cannot be read are
  /// faults.
  private func takeIn() throws(StoreError) {
    faults = faults.filter { listed.contains($0.key) }
    let new = listing.names.filter { name in notes[name].map { !isUsable($0) } ?? true }
    var start = 0
    while start < new.count {
      let part = Array(new[start..<min(start + 64, new.count)])
      control.report(.reading, start, of: new.count)
      let (session, isWriter) = (UncheckedSession(self), store.mode == .writer)
      let read = try Threads.computing.map(part.count) {
        (index) throws(StoreError) -> Result<(OpenedBundle, Taken), TakeFault> in
        try session.value.take(part[index], keepsItems: isWriter)
      }
      var changes: [(bundle: NotedBundle, items: [BundleItem]?)] = []
      for (name, outcome) in zip(part, read) {
        switch outcome {
        case .success(let (opened, taken)):
          faults[name] = nil
          var noted = notes[name] ?? NotedBundle(name, [], taken.facts)
          noted.facts = taken.facts
          noted.facts.place = options.place
          noted.state.insert(taken.isProved ? [.read, .proved] : .read)
          if taken.hasOtherEntries { noted.state.insert(.hasOtherEntries) }
          if options.keys != nil { noted.state.insert(.sealed) }
          changes.append((noted, taken.items))
          keep(opened)
        case .failure(.gone): gone.insert(name)
        case .failure(.fault(let reading, let reason)): faults[name] = (reading, reason)
        }
      }
      try note(changes)
      start += part.count
    }
  }

  /// What is noted of a bundle that was read.
  private struct Taken: Sendable {
    var facts: BundleFacts
    var items: [BundleItem]
    var isProved: Bool
    var hasOtherEntries = false
  }

  private enum TakeFault: Error, Sendable {
    case gone
    case fault(KnownBundle.Reading, String)
  }

  private func take(
    _ name: BundleName, keepsItems: Bool
  ) throws(StoreError) -> Result<(OpenedBundle, Taken), TakeFault> {
    do throws(StoreError) {
      let opened = try open(name)
      guard case .second(let bundle) = opened else {
        return .success((opened, Taken(facts: BundleFacts(format: 1), items: [], isProved: false)))
      }
      // The outline must be whole before the bundle is relied on.
      let entries = try bundle.entries()
      let table = try bundle.table()
      var taken = Taken(facts: BundleFacts(bundle.directory), items: table.items, isProved: false)
      taken.hasOtherEntries = entries.contains { $0.id == nil }
      if name.length <= Bundle2Format.wholeLength {
        for number in table.items.indices { _ = try bundle.item(number, in: table) }
        taken.isProved = true
      }
      return .success((opened, taken))
    } catch {
      switch error {
      case .notFound: return .failure(.gone)
      case .invalid(let reason): return .failure(.fault(.malformed, reason))
      case .fromTheFuture(let reason): return .failure(.fault(.unknown, reason))
      default: throw error
      }
    }
  }

  /// Returns a bundle that was listed.
  ///
  /// - Throws: ``StoreError/notFound(_:)`` if it is gone, ``StoreError/invalid(_:)`` if it is malformed,
  ///   ``StoreError/fromTheFuture(_:)``, or an error of the remote.
  func opened(_ name: BundleName) throws(StoreError) -> OpenedBundle {
    if let known = readers.withLock({ $0.last { $0.name == name } }) { return known }
    let opened = try open(name)
    keep(opened)
    return opened
  }

  private func keep(_ bundle: OpenedBundle) {
    readers.withLock { readers in
      readers.append(bundle)
      if readers.count > Self.keptReaders { readers.removeFirst() }
    }
  }

  private func open(_ name: BundleName) throws(StoreError) -> OpenedBundle {
    let control = UncheckedControl(control)
    let bytes = RemoteBytes(name, objects, cache: parts) { () throws(StoreError) in
      try control.value.check()
    }
    return try OpenedBundle(
      name, bytes, objects, frames, keys: options.keys, scratch: store.path, self.control)
  }

  /// Draws frames of a bundle at random and compares their items with their digests, once; then items
  /// in it may be left out.
  ///
  /// - Returns: false if some of its bytes are wrong.
  func prove(_ name: BundleName) throws(StoreError) -> Bool {
    guard var noted = notes[name], isUsable(noted) else { return false }
    if noted.state.contains(.proved) { return true }
    do throws(StoreError) {
      guard case .second(let bundle) = try opened(name) else { return false }
      let table = try bundle.table()
      let frames = bundle.directory.content.indices
      for frame in Set((0..<4).compactMap { _ in frames.randomElement() }) {
        for number in bundle.firstItems[frame]..<bundle.firstItems[frame + 1] {
          _ = try bundle.item(number, in: table)
        }
      }
    } catch {
      switch error {
      case .invalid(let reason):
        faults[name] = (.malformed, reason)
        return false
      case .notFound:
        gone.insert(name)
        return false
      default: throw error
      }
    }
    noted.state.insert(.proved)
    try note([(noted, nil)])
    return true
  }
}

// The closures that use these run while the caller waits for them.
private struct UncheckedSession: @unchecked Sendable {
  let value: BundleSession
  init(_ value: BundleSession) { self.value = value }
}

struct UncheckedControl: @unchecked Sendable {
  let value: ExchangeControl
  init(_ value: ExchangeControl) { self.value = value }
}
