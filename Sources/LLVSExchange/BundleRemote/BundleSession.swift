import LLVSCore
import ObjectStores

/// One exchange with a remote of bundles: what a list showed, and what is known of each bundle.
///
/// INVARIANT X4: what a bundle says is noted in the catalog only after its directory, table and outline
///   were read and found whole.
/// - Concurrency: for one thread at a time; ``opened(_:)`` and ``holders(of:)`` for several.
final class BundleSession {
  let store: Store
  let objects: any ObjectStore
  let options: BundleRemote.Options
  private(set) var control: ExchangeControl
  let open: OpenBundles
  private(set) var notes = BundleNotes()
  private(set) var seen: SeenBundles
  /// The remote as it was seen last; nil once something has changed.
  private var known: RemoteView?
  private var isPrepared = false
  /// The length of the bundles that are new since the notes were written, in bytes.
  private(set) var newLength: UInt64 = 0

  /// Lists the remote, and reads the directories of new bundles, the oldest first. `afterPart` gets the bundles of each
  /// part but the last once they are noted.
  /// - Throws: ``StoreError/unreachable(_:)``, ``StoreError/cancelled``, or an error of this store.
  init(
    _ store: Store, _ objects: any ObjectStore, _ options: BundleRemote.Options,
    _ control: ExchangeControl,
    afterPart: (BundleSession, [BundleName]) throws(StoreError) -> Void = { (_, _) in }
  ) throws(StoreError) {
    self.store = store
    self.objects = objects
    self.options = options
    self.control = control
    open = OpenBundles()
    control.report(.listing, 0, of: 0)
    seen = SeenBundles(try BundleListing(objects, clock: options.clock))
    if try !useMemory() {
      try takeIn(afterPart)
      try stopAtEncrypted()
    }
    noteSeen()
    try forgetRemoved()
  }

  /// The notes, and the view of a place, that an exchange leaves for the next.
  private struct Memory: Sendable {
    var notes: BundleNotes
    var place: String
    var isSealed: Bool
    /// The view, if all bundles could be read; nil if some could not.
    var view: RemoteView?
  }

  private static let mostRemembered = 20_000

  /// Reads the notes, from memory if they are current; true if the remote, too, is as before.
  private func useMemory() throws(StoreError) -> Bool {
    guard store.mode == .writer, let memory = store.catalog.remoteLedger.memory as? Memory else {
      try notes.read(store)
      return false
    }
    notes = memory.notes
    guard let view = memory.view, memory.place == options.place,
      memory.isSealed == (options.keys != nil), view.names == listing.names
    else { return false }
    known = view
    return true
  }

  private func remember() {
    guard store.mode == .writer, notes.areWritten, notes.bundles.count <= Self.mostRemembered else {
      return
    }
    let memory = Memory(
      notes: notes, place: options.place, isSealed: options.keys != nil,
      view: seen.faults.isEmpty && seen.gone.isEmpty ? view() : nil)
    notes.remember(memory, in: store)
  }

  var listing: BundleListing { seen.listing }

  /// Continues in another step of a command; false if the list is old or another command used the place.
  func resume(_ control: ExchangeControl) throws(StoreError) -> Bool {
    self.control = control
    guard options.send.mayPut(listedAt: listing.asked, now: options.clock.boottime()) else {
      return false
    }
    guard !notes.isCurrent(store) else { return true }
    let before = notes.states(at: options.place)
    known = nil
    try notes.read(store)
    return before == notes.states(at: options.place)
  }

  private func noteSeen() {
    for name in listing.names {
      guard var noted = notes[name], noted.state.contains(.put), !noted.state.contains(.seen) else {
        continue
      }
      noted.state.insert(.seen)
      notes.setLater(noted)
    }
  }

  func settle() throws(StoreError) {
    try notes.writeRest(to: store)
    remember()
  }

  /// Drops the notes of other writers' bundles that were removed as announced.
  private func forgetRemoved() throws(StoreError) {
    try forget { view().isAnnounced($0) }
  }

  /// Drops the notes of other writers' bundles that were here and are gone, where a condition holds.
  func forget(where condition: (BundleName) -> Bool) throws(StoreError) {
    let gone = notes.bundles.values.filter { noted in
      noted.facts.place == options.place && !seen.listed.contains(noted.name)
        && !noted.state.contains(.named)
    }
    try notes.remove(gone.map(\.name).filter(condition), from: store)
  }

  /// Forgets what was read and seen at a place, except the names that this store wrote and what is damaged.
  ///
  /// Damage of the same length shows only when a bundle is read whole, so a later list would not find it.
  static func forget(_ place: String, in store: Store) throws(StoreError) {
    var notes = BundleNotes()
    try notes.read(store)
    var gone: [BundleName] = []
    var changes: [BundleNotes.Change] = []
    for var noted in notes.bundles.values where noted.facts.place == place {
      noted.state.formIntersection([.named, .damaged])
      if noted.state.isEmpty { gone.append(noted.name) } else { changes.append((noted, [])) }
    }
    try notes.set(changes, versions: [], in: store)
    try notes.remove(gone, from: store)
  }

  func listAgain() throws(StoreError) {
    seen.list(try BundleListing(objects, clock: options.clock))
    try takeIn { (_, _) in }
  }

  /// Writes notes, with the items of those whose table is new.
  func note(
    _ changes: [BundleNotes.Change], versions: [(Digest, [VersionNumber])] = []
  ) throws(StoreError) {
    for (bundle, _) in changes { look(at: bundle) }
    try notes.set(changes, versions: versions, in: store)
  }

  private func look(at noted: NotedBundle) {
    let isThere =
      seen.listed.contains(noted.name)
      ? !seen.gone.contains(noted.name) && isUsable(noted) : isUnlisted(noted)
    switch known?.reading(of: noted.name) {
    case nil where isThere:
      known?.add(KnownBundle(noted))
    case nil: break
    case .read where isThere: break
    default: known = nil
    }
  }

  func prepare() throws(StoreError) {
    guard listing.names.isEmpty, !isPrepared else { return }
    // The histories of two stores that begin at once may be unrelated: the next exchange compares them.
    try listAgain()
    guard listing.names.isEmpty else {
      throw .busy("another store has begun to send there at the same time; sync again")
    }
    try asking { () throws(RemoteError) in try objects.prepare([BundleFormat.folder]) }
    isPrepared = true
  }

  /// The writer's name: the replica id, or the name taken after a clash with foreign bundles.
  private(set) lazy var writer = options.writer ?? notedWriter() ?? store.replicaID

  func rename(_ name: String) {
    writer = name
    known = nil
  }

  func isOwn(_ name: BundleName) -> Bool { name.writer == writer }

  /// The remote as the list and this store's own PUTs show it.
  func view() -> RemoteView {
    if let known { return known }
    let view = RemoteView(
      bundlesThere(), own: adopted.union([writer]), leastLength: options.send.leastLength)
    known = view
    return view
  }

  func bundlesThere() -> [KnownBundle] {
    var known: [KnownBundle] = []
    for name in listing.names where !seen.gone.contains(name) {
      if let noted = notes[name], isUsable(noted) {
        known.append(
          KnownBundle(noted, noted.state.contains(.damaged) ? .damaged : .read))
      } else {
        known.append(KnownBundle(name: name, reading: seen.faults[name]?.reading ?? .malformed))
      }
    }
    for noted in notes.bundles.values where isUnlisted(noted) {
      known.append(KnownBundle(noted))
    }
    return known
  }

  /// Returns true for a bundle that was read and is encrypted exactly if this peer's bundles are now.
  func isUsable(_ noted: NotedBundle) -> Bool {
    noted.state.contains(.read) && noted.state.contains(.sealed) == (options.keys != nil)
  }

  /// Returns true for a bundle that this store put and no list shows yet.
  private func isUnlisted(_ noted: NotedBundle) -> Bool {
    guard noted.state.contains(.put), noted.state.isDisjoint(with: [.removed, .seen]),
      noted.facts.place == options.place, isOwn(noted.name), !seen.listed.contains(noted.name),
      !listing.torn.contains(noted.name.text)
    else { return false }
    if seen.put.contains(noted.name) { return true }
    // A directory shows at once what is in it.
    guard !objects.capabilities.contains(.isNear) else { return false }
    // Another machine may have answered the PUT: a later list decides.
    if noted.state.contains(.timed), let date = listing.date {
      return options.send.countsUnlisted(putAt: noted.put, listedAt: date)
    }
    return options.send.countsUnlisted(putAt: noted.put, now: options.clock.now())
  }

  /// Notes an answered PUT, for this exchange alone.
  func notePut(_ name: BundleName) {
    seen.put.insert(name)
    if let noted = notes[name] { look(at: noted) }
  }

  /// Notes that the outline of a bundle cannot be read, so that its versions are not known.
  func noteUnreadable(_ name: BundleName, _ reason: String) throws(StoreError) {
    try noteDamage(of: name, reason)
    seen.faults[name] = (.malformed, reason)
    known = nil
  }

  /// Notes that bytes of a bundle are wrong, so that the next sends do not rely on it.
  func noteDamage(of name: BundleName, _ reason: String) throws(StoreError) {
    known = nil
    guard var noted = notes[name], isUsable(noted) else {
      return seen.faults[name] = (.malformed, reason)
    }
    guard !noted.state.contains(.damaged) else { return }
    noted.state.insert(.damaged)
    noted.state.remove(.proved)
    try note([(noted, nil)])
  }

  func items(of name: BundleName) throws(StoreError) -> [HeldItem] {
    guard let number = notes.number(of: name) else { return [] }
    let rows = try store.catalog.readView { (view) throws(StoreError) in
      try view.items(inRemoteBundle: number)
    }
    return rows.compactMap { HeldItem($0) }
  }

  func holders(of item: BundleItem) throws(StoreError) -> [ItemHolder] {
    let found = try store.catalog.readView { (view) throws(StoreError) in
      try view.bundles(holding: item.key)
    }
    return found.compactMap { place in
      notes.name(of: place.number).map { ItemHolder($0, place.place, isPatch: place.isPatch) }
    }
  }

  /// Reads the directories of new bundles; those that cannot be read are faults.
  private func takeIn(
    _ afterPart: (BundleSession, [BundleName]) throws(StoreError) -> Void
  ) throws(StoreError) {
    known = nil
    let new = listing.names.filter { name in notes[name].map { !isUsable($0) } ?? true }
    newLength = new.reduce(0) { $0 &+ $1.length }
    var rest = oldestFirst(new)
    while !rest.isEmpty {
      control.report(.reading, new.count - rest.count, of: new.count, bytes: newLength)
      let part = Self.part(of: rest)
      nonisolated(unsafe) let session = self
      let budget = ReadingBudget(options.readingBytes)
      // Servers answer several requests at a time; a directory gains nothing by that.
      let width = objects.capabilities.contains(.isNear) ? 1 : 8
      let read = try Threads.map(part.count, width: width) {
        (index) throws(StoreError) -> Result<(BundleReader, Taken), TakeFault> in
        try session.take(part[index], budget)
      }
      var changes: [BundleNotes.Change] = []
      var later: [BundleName] = []
      for (name, outcome) in zip(part, read) {
        switch outcome {
        case .success(let (opened, taken)):
          seen.faults[name] = nil
          changes.append((noted(name, taken), taken.items))
          open.keep(opened)
        case .failure(.gone):
          seen.faults[name] = try faultOfAbsent(name).map { (.malformed, $0) }
          if seen.faults[name] == nil { seen.gone.insert(name) }
        case .failure(.noRoom): later.append(name)
        case .failure(.fault(let reading, let reason)): seen.faults[name] = (reading, reason)
        }
      }
      try note(changes)
      rest = later + rest.dropFirst(part.count)
      if !rest.isEmpty { try afterPart(self, changes.map(\.bundle.name)) }
    }
  }

  private func oldestFirst(_ names: [BundleName]) -> [BundleName] {
    let timed: [(time: Int64, name: BundleName)] = names.map { (listing.modified($0) ?? 0, $0) }
    return timed.sorted { (a, b) -> Bool in
      a.time == b.time ? a.name < b.name : a.time < b.time
    }.map(\.name)
  }

  /// Returns the first bundles: at most 64, as many as need about 1 MiB of reading.
  private static func part(of names: [BundleName]) -> [BundleName] {
    var bytes: UInt64 = 0
    let part = names.prefix(64).prefix { name in
      defer {
        bytes += name.length > BundleFormat.wholeLength ? BundleFormat.suffixLength : name.length
      }
      return bytes < 1 << 20
    }
    return Array(part)
  }

  private func noted(_ name: BundleName, _ taken: Taken) -> NotedBundle {
    var noted = notes[name] ?? NotedBundle(name, [], taken.facts)
    noted.facts = taken.facts
    noted.facts.place = options.place
    noted.state.insert(taken.isProved ? [.read, .proved] : .read)
    if noted.state.contains(.named) { noted.state.insert(.seen) }
    if taken.hasOtherEntries { noted.state.insert(.hasOtherEntries) }
    if taken.lacksBytes { noted.state.insert(.lacksBytes) }
    if options.keys != nil { noted.state.insert(.sealed) }
    return noted
  }

  private struct Taken: Sendable {
    var facts: BundleFacts
    var items: [HeldItem]
    var isProved: Bool
    var hasOtherEntries = false
    var lacksBytes = false
  }

  private enum TakeFault: Error, Sendable {
    case gone
    /// It has no room in memory next to those that are read with it.
    case noRoom
    case fault(KnownBundle.Reading, String)
  }

  private func take(
    _ name: BundleName, _ budget: ReadingBudget
  ) throws(StoreError) -> Result<(BundleReader, Taken), TakeFault> {
    do throws(StoreError) {
      let bundle = try read(name)
      guard budget.take(bundle.memory + bundle.memoryOfItems) else { return .failure(.noRoom) }
      let entries = try bundle.entries()
      let table = try bundle.table()
      var taken = Taken(facts: BundleFacts(bundle.directory), items: table.held, isProved: false)
      taken.hasOtherEntries = entries.contains { $0.id == nil }
      taken.lacksBytes = try bundle.lacksBytes(entries)
      if name.length <= BundleFormat.wholeLength, table.bases.isEmpty {
        for number in table.items.indices { _ = try bundle.item(number, in: table) }
        taken.isProved = true
      }
      return .success((bundle, taken))
    } catch .notFound {
      return .failure(.gone)
    } catch .invalid(let reason) {
      return .failure(.fault(.malformed, reason))
    } catch .fromTheFuture(let reason) {
      return .failure(.fault(.unknown, reason))
    }
  }

  /// Returns what is wrong with a bundle that a GET did not find; nil if a new list lacks it too.
  func faultOfAbsent(_ name: BundleName) throws(StoreError) -> String? {
    let isListed = try asking { () throws(RemoteError) in try objects.lists(absent: name.object) }
    return isListed ? "\(name.object): the server lists it and does not give it" : nil
  }

  /// - Throws: ``StoreError/notFound(_:)``, ``StoreError/invalid(_:)``, ``StoreError/fromTheFuture(_:)``,
  ///   or an error of the remote.
  func opened(_ name: BundleName) throws(StoreError) -> BundleReader {
    if let known = open.bundle(name) { return known }
    let opened = try read(name)
    open.keep(opened)
    return opened
  }

  func bytes(of name: BundleName) -> RemoteBytes {
    nonisolated(unsafe) let control = control
    return RemoteBytes(name, objects, cache: open.parts) { () throws(StoreError) in
      try control.check()
    }
  }

  private func read(_ name: BundleName) throws(StoreError) -> BundleReader {
    try BundleReader(name, bytes(of: name), cache: open.frames, keys: options.keys)
  }

  /// Compares random items of a bundle with their digests, once; false if some of its bytes are wrong.
  func prove(_ name: BundleName) throws(StoreError) -> Bool {
    guard var noted = notes[name], isUsable(noted) else { return false }
    if noted.state.contains(.proved) { return true }
    do throws(StoreError) {
      let bundle = try opened(name)
      let table = try bundle.table()
      let fetcher = ItemFetcher(self)
      let frames = bundle.directory.content.indices
      for frame in Set((0..<4).compactMap { _ in frames.randomElement() }) {
        for number in bundle.firstItems[frame]..<bundle.firstItems[frame + 1] {
          _ = try fetcher.bytes(number, in: bundle, table)
        }
      }
    } catch .invalid(let reason) {
      try noteDamage(of: name, reason)
      return false
    } catch .notFound {
      seen.gone.insert(name)
      known = nil
      return false
    }
    noted.state.insert(.proved)
    try note([(noted, nil)])
    return true
  }
}

extension KnownBundle {
  fileprivate init(_ noted: NotedBundle, _ reading: Reading = .read) {
    self.init(
      name: noted.name, claims: noted.facts.claims, filled: noted.facts.filled, reading: reading)
  }
}
