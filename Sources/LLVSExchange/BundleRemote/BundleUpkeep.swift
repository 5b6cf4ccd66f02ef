import LLVSCore
import ObjectStores

/// Keeps the bundles of a store at a remote, own and adopted, few and whole, and removes replaced ones.
///
/// INVARIANT X8: a bundle is announced only when all that it holds is in bundles that count and are not
///   announced, and removed only after ``RemovalRules`` let it go.
/// - Concurrency: for one thread at a time.
struct BundleUpkeep {
  private static let lastChecked = "bundles.checked"
  private static let lastRefill = "bundles.refilled"
  private let session: BundleSession
  private let sender: BundleSender
  private let fetcher: ItemFetcher
  private var store: Store { session.store }
  private var options: BundleRemote.Options { session.options }

  init(_ session: BundleSession, _ sender: BundleSender) {
    self.session = session
    self.sender = sender
    fetcher = ItemFetcher(session)
  }

  func run() throws(StoreError) {
    try remove()
    try refill()
    guard !sender.sent.isEmpty else { return }
    try checkOne()
    try replaceDamaged()
    try combine()
  }

  private func fetch(_ item: BundleItem) throws(StoreError) -> [UInt8]? {
    do throws(StoreError) {
      return try fetcher.bytes(of: item)
    } catch .invalid, .notFound, .fromTheFuture {
      return nil
    }
  }

  private var kept: Set<String> { session.adopted.union([session.writer]) }

  private func ownListed() -> [BundleName] {
    let kept = kept
    return session.listing.names.filter { kept.contains($0.writer) }
  }

  private func remove() throws(StoreError) {
    guard options.removes, try !due().isEmpty else { return }
    // The list that the send began with may be old by now.
    try session.listAgain()
    sender.refresh()
    let (view, due) = (session.view(), try due())
    guard !due.isEmpty, view.unknown.isEmpty, try putUncovered(of: due, view) else { return }
    for name in due {
      try session.control.check()
      try asking { () throws(RemoteError) in try session.objects.delete(name.object) }
      guard var noted = session.notes[name] else { continue }
      noted.state.insert(.removed)
      try session.note([(noted, [])])
    }
  }

  private func due() throws(StoreError) -> [BundleName] {
    let view = session.view()
    let announced = ownListed().filter { view.isAnnounced($0) }
    guard !announced.isEmpty else { return [] }
    // One that came back, or whose announcement was not noted, begins its grace period now.
    let new = announced.filter { session.notes[$0]?.state.contains(.announced) != true }
    try session.note(
      new.compactMap { name in
        guard var noted = session.notes[name] else { return nil }
        noted.state.insert(.announced)
        noted.announced = session.listing.now
        return (noted, nil)
      })
    let list = RemovalRules.Listing(now: session.listing.now, newest: session.listing.newest)
    return announced.filter { name in
      // When the server wrote the announcement is looked up only where this store's own clock agrees.
      guard let noted = session.notes[name], noted.state.contains(.announced),
        options.removal.hasPassed(since: .init(made: noted.announced, written: nil), list)
      else { return false }
      let written = view.announcing(name).compactMap { session.listing.modified($0) }.min()
      return options.removal.hasPassed(
        since: .init(made: noted.announced, written: written), list)
    }
  }

  /// Puts what only bundles that are about to be removed hold; false if that fails.
  private func putUncovered(of due: [BundleName], _ view: RemoteView) throws(StoreError) -> Bool {
    var items: [BundleItem] = []
    var versions: [VersionNumber] = []
    let there = session.versions(in: view.names.filter(view.counts))
    for name in due {
      items += try RemovalRules.uncovered(try session.items(of: name), in: view) {
        (item) throws(StoreError) in
        // The word of another writer is not enough.
        var proved: [BundleName] = []
        for (name, _) in try session.holders(of: item) where view.counts(name) {
          if try session.prove(name) { proved.append(name) }
        }
        return proved
      }
      versions += (session.versions(of: name) ?? []).filter { !there.contains($0) }
    }
    guard !items.isEmpty || !versions.isEmpty else { return true }
    sender.refresh()
    return try sender.without(Set(due)) { () throws(StoreError) in
      guard try sender.put(items, fetch: fetch) else { return false }
      return try sender.put(Array(Set(versions)).sorted())
    }
  }

  private func combine() throws(StoreError) {
    let rules =
      options.combining
      ?? CombiningRules(goal: CombiningRules.goal(of: session.listing.total))
    let view = session.view()
    let kept = kept
    let own = view.names.filter { name in
      kept.contains(name.writer) && view.counts(name)
        && session.notes[name]?.state.contains(.hasOtherEntries) == false
    }
    let old = rules.toCombine(own)
    guard old.count > 1 else { return }
    try replace(old)
  }

  private func replace(_ names: [BundleName]) throws(StoreError) {
    var old: Set<BundleName> = []
    var versions: Set<VersionNumber> = []
    var items: [BundleItem] = []
    for name in names {
      // A bundle whose versions are not known stays as it is.
      guard let numbers = session.versions(of: name) else { continue }
      old.insert(name)
      versions.formUnion(numbers)
      items += try session.items(of: name)
    }
    guard !old.isEmpty else { return }
    sender.refresh()
    _ = try sender.replace(old, versions: versions.sorted(), items: items, fetch: fetch)
  }

  /// Replaces damaged bundles with this store's data; they stay for the grace period, as the rest still serves.
  private func replaceDamaged() throws(StoreError) {
    for name in ownListed() where session.seen.faults[name]?.reading == .malformed {
      guard !session.view().isAnnounced(name) else { continue }
      try replace([name])
    }
  }

  /// Reads the next of this store's bundles again in a directory, which may lose bytes silently.
  private func checkOne() throws(StoreError) {
    guard options.removal == .directory else { return }
    let own = ownListed().map(\.text)
    // The last name when the round began: bundles that sends add would make it endless.
    let kept = store.noted(Self.lastChecked).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let parts = kept.split(separator: " ").map(String.init)
    var (last, end) = parts.count == 2 ? (parts[0], parts[1]) : ("", "")
    if !own.contains(where: { $0 > last && $0 <= end }) { (last, end) = ("", own.last ?? "") }
    guard let text = own.first(where: { $0 > last }), let next = BundleName(text) else { return }
    store.note(Self.lastChecked, Array("\(text) \(end)".utf8))
    if let fault = try session.damage(of: next) { session.distrust(next, fault) }
  }

  /// Puts what no counting bundle holds where bundles that should stay are gone: objects lost or rolled back.
  private func refill() throws(StoreError) {
    let view = session.view()
    let missing = view.writers.flatMap { writer in
      view.missing(of: writer).map { "\(writer)-\($0)" }
    }
    guard !missing.isEmpty else { return }
    // Other stores notice it as well: each waits for a random time, and looks again.
    let key = "\(Self.lastRefill) \(options.place)"
    let digest = Digest.of(Array(missing.joined(separator: " ").utf8)).hex
    let noted = store.noted(key).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let words = noted.split(separator: " ").map(String.init)
    let now = options.clock.now()
    guard words.count == 2, words[0] == digest, let due = Int64(words[1]) else {
      let due = now + Int64.random(in: 0...Int64(options.send.listAge / 1_000_000_000))
      return store.note(key, Array("\(digest) \(due)".utf8))
    }
    // It was done for these before.
    guard due >= 0, now >= due else { return }
    try session.listAgain()
    sender.refresh()
    let there = session.view()
    try sender.putItems(of: session.versionNumbers(in: there.names.filter(there.counts)))
    store.note(key, Array("\(digest) -1".utf8))
  }
}
