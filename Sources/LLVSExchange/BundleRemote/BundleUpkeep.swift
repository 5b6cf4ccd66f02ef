import LLVSCore
import ObjectStores

/// Keeps the bundles of a store at a remote, own and adopted, few and whole, and removes replaced ones.
///
/// INVARIANT X8: a bundle is announced only when all that it holds is in bundles that count and are not
///   announced, and removed only after ``RemovalRules`` let it go, or at once if it is damaged.
/// - Concurrency: for one thread at a time.
struct BundleUpkeep {
  private static let lastChecked = "bundles.checked"
  /// The time between two such reads without a send, in seconds.
  private static let dailyCheck: Int64 = 24 * 3600
  private static let lastFilled = "bundles.filled"
  /// The note that asks for everything to be compared again.
  private static let again = "again"
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
    guard !sender.sent.isEmpty else { return }
    try combine()
  }

  private func fetch(_ item: HeldItem) throws(StoreError) -> BundlePiece? {
    do throws(StoreError) {
      return try fetcher.piece(of: item)
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
    guard options.removes else { return }
    try removeTorn()
    guard try !due().isEmpty else { return }
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

  /// Removes this store's torn bundles and junk that were replaced, because no store can read them.
  private func removeTorn() throws(StoreError) {
    let view = session.view()
    for name in session.listing.torn.compactMap({ BundleName($0) }) + session.junk
    where kept.contains(name.writer) && view.isGone(name.writer, name.sequence) {
      try asking { () throws(RemoteError) in try session.objects.delete(name.object) }
    }
  }

  private func due() throws(StoreError) -> [BundleName] {
    let view = session.view()
    let announced = ownListed().filter { view.isAnnounced($0) }
    guard !announced.isEmpty else { return [] }
    // One that came back, or whose announcement was not noted, begins its grace period now. A store that cannot read
    // the announcement learns of it from the newest bundle.
    let newest = view.names.last(where: session.isOwn)
    let new = announced.filter { name in
      session.notes[name]?.state.contains(.announced) != true
        && view.announcing(name).contains { $0 == newest }
    }
    try session.note(
      new.compactMap { name in
        guard var noted = session.notes[name] else { return nil }
        noted.state.insert(.announced)
        noted.announced = session.listing.now
        return (noted, nil)
      })
    let list = RemovalRules.Listing(now: session.listing.now, newest: session.listing.newest)
    let small = Set(announced.filter { $0.length < options.send.leastLength })
    return announced.filter { name in
      // The bundle that replaces it is there, and no other store relies on it.
      if small.count > RemovalRules.mostWaiting, small.contains(name),
        view.announcing(name).contains(where: session.seen.listed.contains)
      {
        return true
      }
      // What a damaged bundle held was put again before it was announced.
      if session.notes[name]?.state.isSuperset(of: [.announced, .damaged]) == true { return true }
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
    var items: [HeldItem] = []
    var damaged: [HeldItem] = []
    var versions: [VersionNumber] = []
    let there = session.versions(in: view.names.filter(view.counts))
    for name in due {
      let uncovered = try RemovalRules.uncovered(try session.items(of: name), in: view) {
        (held) throws(StoreError) in
        // The word of another writer is not enough, and a whole item stays whole: it may be a base.
        var proved: [BundleName] = []
        for holder in try session.holders(of: held.item)
        where view.counts(holder.name) && (held.isPatch || !holder.isPatch) {
          if try session.prove(holder.name) { proved.append(holder.name) }
        }
        return proved
      }
      if session.notes[name]?.state.contains(.damaged) == true {
        damaged += uncovered
      } else {
        items += uncovered
      }
      versions += (session.versions(of: name) ?? []).filter { !there.contains($0) }
    }
    guard !items.isEmpty || !damaged.isEmpty || !versions.isEmpty else { return true }
    sender.refresh()
    return try sender.without(Set(due), fetch: fetch) { () throws(StoreError) in
      _ = try sender.put(damaged, orLost: true, fetch: fetch)
      guard try sender.put(items, fetch: fetch) else { return false }
      return try sender.put(Array(Set(versions)).sorted())
    }
  }

  private func combine() throws(StoreError) {
    let view = session.view()
    let kept = kept
    let own = view.names.filter { name in
      kept.contains(name.writer) && view.counts(name)
        && session.notes[name]?.state.contains(.hasOtherEntries) == false
    }
    let old = session.combining.toCombine(own)
    guard old.count > 1 else { return }
    try replace(old)
  }

  private func replace(_ names: [BundleName]) throws(StoreError) {
    var old: Set<BundleName> = []
    var versions: Set<VersionNumber> = []
    var items: [HeldItem] = []
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

  /// Reads bundles again: those that another store could not read, and in a directory, which may lose bytes silently,
  /// the next of this store's with each send, or once a day; true if one is damaged.
  func findsDamage(isSending: Bool) throws(StoreError) -> Bool {
    var isFound = try session.readDoubted()
    guard options.removal == .directory else { return isFound }
    let own = ownListed().map(\.text)
    let key = "\(Self.lastChecked) \(options.place)"
    // The last name when the round began: bundles that sends add would make it endless.
    let kept = store.noted(key).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let parts = kept.split(separator: " ").map(String.init)
    var (last, end) = parts.count == 3 ? (parts[0], parts[1]) : ("", "")
    let (now, before) = (options.clock.now(), parts.last.flatMap { Int64($0) } ?? 0)
    guard isSending || now < before || now - before >= Self.dailyCheck else { return isFound }
    if !own.contains(where: { $0 > last && $0 <= end }) { (last, end) = ("", own.last ?? "") }
    guard let text = own.first(where: { $0 > last }), let next = BundleName(text) else {
      return isFound
    }
    store.note(key, Array("\(text) \(end) \(now)".utf8))
    guard let fault = try session.damage(of: next) else { return isFound }
    try session.noteDamage(of: next, fault)
    isFound = true
    return isFound
  }

  /// Puts what no bundle there holds, once for each set of bundles that are lost, torn or damaged.
  /// Own ones are announced.
  func fill() throws(StoreError) {
    let key = "\(Self.lastFilled) \(options.place)"
    let noted = store.noted(key).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let words = noted.split(separator: " ").map(String.init)
    let doubts = session.doubts()
    guard !doubts.isEmpty || words == [Self.again] else {
      // The same bundles may be lost once more later.
      if !noted.isEmpty { store.note(key, []) }
      return
    }
    let newest = try store.state().lastNumber
    var first: UInt32 = 0
    var isAll = true
    if words.count >= 2, words[0] == Self.digest(of: doubts) {
      first = UInt32(words[1]) ?? 0
      isAll = words.count == 2
    }
    if first >= newest { guard isAll, try session.hasMoreToSay() else { return } }
    sender.refresh()
    let kept = kept
    let lost = session.lost(in: session.view()).filter { kept.contains($0.writer) }
    isAll = try sender.fill(after: first, isAll: isAll, announcing: Set(lost))
    // The notes of a bundle that its writer still claims say that its versions are here, and were put again.
    let view = session.view()
    try session.forget { !view.missing(of: $0.writer).contains($0.sequence) }
    let left = session.doubts()
    if left.isEmpty {
      store.note(key, [])
    } else if !sender.isDropped {
      store.note(key, Array("\(Self.digest(of: left)) \(newest)\(isAll ? "" : " part")".utf8))
    }
  }

  static func compareAll(at place: String, in store: Store) {
    store.note("\(lastFilled) \(place)", Array(again.utf8))
  }

  private static func digest(of holes: Set<String>) -> String {
    Digest.of(Array(holes.sorted().joined(separator: " ").utf8)).hex
  }
}
