import LLVSCore
import ObjectStores

/// Writes bundles: versions with the items that nothing there holds that counts.
///
/// INVARIANT X5: an item is left out only if a bundle that counts holds it, whose bytes this store put or
///   found right; a list on which that rests is at most an hour old when the PUT begins.
/// INVARIANT X6: a name is noted before its PUT, and no other bytes ever get it.
/// INVARIANT X7: a send is complete only after a list that followed the last PUT has shown that all it
///   relies on of other writers still counts, or it was put.
/// - Concurrency: for one thread at a time.
final class BundleSender {
  typealias Fetch = (HeldItem) throws(StoreError) -> BundlePiece?

  let session: BundleSession
  var store: Store { session.store }
  var control: ExchangeControl { session.control }
  var options: BundleRemote.Options { session.options }
  private(set) var view: RemoteView
  var current: OutgoingBundle?
  /// The bundle before it, whose PUT may be under way.
  private var last: BundlePut?
  /// Bundles that are about to be announced, which do not count for what replaces them.
  var going: Set<BundleName> = []
  private let goal: UInt64
  /// Other writers' bundles that the bundles of this send rely on.
  var relied: Set<BundleName> = []
  /// The bundles whose bytes turned out to be wrong.
  private var distrusted: Set<BundleName> = []
  /// The versions that were put, and those in a bundle whose needs do not count any more.
  private(set) var sent: [VersionRecord] = []
  private(set) var puts = 0
  /// True while items are put again that were sent once.
  private var isFilling = false
  /// True while a value whose bytes this store has forgotten is named by its digest. Bundles that are replaced have
  /// such bytes, so that a version in them is never written again without.
  private var namesForgotten = false
  /// True once such a value was named.
  private var hasNamedForgotten = false
  /// Reads an item from bundles while bundles are replaced: a version in them may be forgotten here.
  var fetch: Fetch?
  /// True while a bundle is due that names filled ones.
  private var isNaming = false
  /// True once all that this store has is at the remote, in a bundle or in the current one.
  private var isPutAll = false
  /// True if a bundle was not put, because what it needs does not count any more.
  private(set) var isDropped = false
  /// The number of versions to send, the bytes of their values that are not in a bundle yet, and the bytes put.
  private var toSend = 0
  private var left: UInt64 = 0
  private var answered: UInt64 = 0
  var rejected: [VersionNumber] = []

  init(_ session: BundleSession) throws(StoreError) {
    self.session = session
    try session.leaveStrangersName()
    view = session.view()
    goal = session.combining.goal
  }

  func send(_ numbers: [VersionNumber]) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    var missing = numbers
    guard !missing.isEmpty else { return report }
    try session.refuseEncrypted()
    OutgoingBundle.clean(store)
    namesForgotten = true
    defer { namesForgotten = false }
    toSend = missing.count
    left = try store.countBytes(of: missing)
    tellProgress()
    var unsent = UnsentVersions()
    while !missing.isEmpty {
      var rest = missing[...]
      missing = []
      while let number = rest.popFirst() {
        try control.check()
        if try add(number, &unsent) { try closeIfFull() }
        tellProgress()
        guard rejected.isEmpty else { break }
      }
      try close()
      tellProgress()
      // The bundle's needs stopped counting before its PUT: its versions come again, and no descendant before.
      missing = rejected.sorted() + rest
      rejected = []
    }
    try completeRelied()
    report.sent = sent.map(\.id)
    report.refused = unsent.faults
    return report
  }

  /// Reports the bytes that are put, in a bundle, or to be added.
  private func tellProgress() {
    guard !isFilling, toSend > 0 else { return }
    let pending = (last?.noted.name.length ?? 0) + (current?.writer.length ?? 0)
    control.report(.sending, sent.count, of: toSend, bytes: answered + pending + left)
  }

  /// Adds a version; false if it cannot be sent.
  func add(
    _ number: VersionNumber, _ unsent: inout UnsentVersions
  ) throws(StoreError) -> Bool {
    guard let record = try store.version(number) else {
      throw .corrupt("there is no version number \(number.rawValue)")
    }
    if try unsent.excludes(record, nil, in: store) { return false }
    do throws(StoreError) {
      try add(record)
      return true
    } catch {
      guard isDamage(error) || error.isForgotten else { throw error }
      _ = try unsent.excludes(record, error.message, in: store)
      return false
    }
  }

  private func isDamage(_ error: StoreError) -> Bool {
    error.isDamage && !OutgoingBundle.isOwnFile(of: error, store)
  }

  private func add(_ record: VersionRecord) throws(StoreError) {
    let version = try store.version(from: record)
    // A version with more bytes than a bundle follows the bundles with its items.
    let isShort = (record.valueDataSize ?? .max) <= Int64(goal / 2)
    if !isShort { try putItems(of: record) }
    let changes = Spool(directory: store.path, memoryLimit: 8 << 20)
    try store.forEachChange(toSendOf: record) { (change) throws(StoreError) in
      var bytes: [UInt8] = []
      try bytes.append(
        try change.map { (entry) throws(StoreError) in try value(entry, mayClose: false) })
      try bytes.withPiece { (piece) throws(StoreError) in try changes.append(piece) }
    }
    let digest = version.metadata[.digest] == nil ? record.map.digest : nil
    let bundle = try bundle()
    try bundle.writer.add(version, contentDigest: digest, changes: changes)
    bundle.versions.append(record)
  }

  /// Returns a value for an outline, after adding missing items; damage is reported with the key.
  private func value(_ entry: Entry, mayClose: Bool) throws(StoreError) -> OutlineValue {
    do throws(StoreError) {
      return try outlineValue(entry, mayClose: mayClose)
    } catch {
      if error.isForgotten, let fetch, !entry.isInOutline {
        guard let value = try valueFromBundles(entry.stored, fetch) else { throw error }
        return value
      }
      if error.isForgotten, namesForgotten {
        hasNamedForgotten = true
        return .forgotten(entry.stored.digest, length: entry.stored.length)
      }
      guard isDamage(error) else { throw error }
      throw .corrupt("\(entry.key.rawValue): \(error.message)")
    }
  }

  private func outlineValue(_ entry: Entry, mayClose: Bool) throws(StoreError) -> OutlineValue {
    let stored = entry.stored
    defer {
      left -= min(left, stored.length)
      if stored.length >= 65_536 { tellProgress() }
    }
    if entry.isInOutline { return .inline(try store.contents.bytes(stored)) }
    let first = BundleItem(value: stored.digest, length: stored.length)
    var found: OutlineValue?
    try store.contents.forEachPart(of: stored) { (part) throws(StoreError) in
      if mayClose { try closeIfFull() }
      let item = BundleItem(part)
      let place = try place(of: item, isReferred: !mayClose) { () throws(StoreError) in
        BundlePiece(
          bytes: try part.bytes(), bases: try part.bases().map { BundleBase($0) })
      }
      guard item == first else { return }
      switch place {
      case .here(let number): found = .item(number, length: stored.length)
      case .elsewhere(let need):
        found = .leftOut(stored.digest, length: stored.length, need: need)
      }
    }
    guard let found else { throw .corrupt("a value of \(stored.length) bytes has none") }
    return found
  }

  enum Place {
    case here(Int)
    case elsewhere(need: Int?)
  }

  /// Returns the place of an item, adding it if nothing reliable holds it; `isReferred` says the outline uses it.
  func place(
    of item: BundleItem, isReferred: Bool, piece: () throws(StoreError) -> BundlePiece
  ) throws(StoreError) -> Place {
    let bundle = try bundle()
    if let number = bundle.writer.number(of: item) { return .here(number) }
    let known = try session.holders(of: item)
    // A whole item stays whole: it may be a base.
    let held = HeldItem(
      item: item,
      isPatch: !known.contains { holder in
        !holder.isPatch && (isGoing(holder) || isFilling && !view.holds(holder.name))
      })
    if let holder = try holder(of: held, among: known, for: bundle) {
      guard isReferred else {
        if !session.isOwn(holder), !isFilling { relied.insert(holder) }
        return .elsewhere(need: nil)
      }
      // There may be no place for one need more: then the item is here again.
      if let need = bundle.writer.number(ofNeed: BundleNeed(holder)) {
        bundle.needs.insert(holder)
        return .elsewhere(need: need)
      }
    }
    return .here(try add(held, try piece(), to: bundle))
  }

  private func isGoing(_ holder: ItemHolder) -> Bool { going.contains(holder.name) }

  /// Adds an item to a bundle, as a patch if it may be one. Bases that no bundle has whole go along if they are
  /// shorter than the whole item would be.
  func add(
    _ held: HeldItem, _ piece: BundlePiece, to bundle: OutgoingBundle
  ) throws(StoreError) -> Int {
    var bases = held.isPatch ? piece.bases : []
    var missing: [BundleBase] = []
    for base in bases where try !stays(base, with: bundle) { missing.append(base) }
    let isHeld = missing.contains { bundle.writer.number(of: BundleItem(.chunk, $0.digest)) != nil }
    if isHeld || missing.reduce(0, { $0 + $1.bytes.count }) > piece.bytes.count / 2 {
      bases = []
    } else {
      for base in missing {
        try bundle.writer.add(BundleItem(.chunk, base.digest), base.bytes)
      }
    }
    return try bundle.writer.add(held.item, piece.bytes, after: bases)
  }

  /// Returns true if a base is whole in the bundle or in one that it needs; a base that would go is added.
  private func stays(
    _ base: BundleBase, with bundle: OutgoingBundle
  ) throws(StoreError) -> Bool {
    let held = HeldItem(item: BundleItem(.chunk, base.digest))
    guard bundle.writer.number(of: held.item) == nil else {
      return bundle.writer.isWhole(held.item)
    }
    let known = try session.holders(of: held.item)
    if let holder = try holder(of: held, among: known, for: bundle),
      bundle.writer.number(ofNeed: BundleNeed(holder)) != nil
    {
      bundle.needs.insert(holder)
      return true
    }
    guard known.contains(where: { isGoing($0) && !$0.isPatch }) else { return false }
    try bundle.writer.add(held.item, base.bytes)
    return true
  }

  /// Returns a bundle in which an item may be left, whole if it may not be a patch: preferably a needed one, then
  /// an own one.
  func holder(
    of held: HeldItem, among known: [ItemHolder], for bundle: OutgoingBundle
  ) throws(StoreError) -> BundleName? {
    let fit = known.filter { held.isPatch || !$0.isPatch }
    // A bundle counts once its PUT was answered.
    if let last, fit.contains(where: { $0.name == last.noted.name }) { try finishLast() }
    // A version that relies on a bundle with the item relied on it before.
    if isFilling {
      for holder in fit where view.holds(holder.name) && !isGoing(holder) {
        if try session.canRead(held.item, at: holder, where: view.holds) { return holder.name }
      }
      return nil
    }
    let holders = fit.map(\.name).filter { name in
      !distrusted.contains(name) && !going.contains(name) && view.counts(name)
    }
    let order = holders.sorted { a, b in
      let (x, y) = (bundle.needs.contains(a), bundle.needs.contains(b))
      if x != y { return x }
      let (own, other) = (session.isOwn(a), session.isOwn(b))
      return own == other ? b < a : own
    }
    for name in order {
      let isProved = try session.prove(name)
      if options.send.mayLeaveOut(in: name, view, isProved: isProved) { return name }
      distrusted.insert(name)
    }
    return nil
  }

  func bundle() throws(StoreError) -> OutgoingBundle {
    if let current { return current }
    let sequence = session.reserveSequence()
    let new = try OutgoingBundle(
      writer: session.writer, sequence: sequence, store: store,
      seal: try options.keys.map { (keys) throws(StoreError) in
        try keys.newSeal(writer: session.writer, sequence: sequence)
      }, control)
    current = new
    return new
  }

  func closeIfFull() throws(StoreError) {
    guard let current, current.writer.isFull(goal: goal) else { return }
    // The next bundle is written while this one goes.
    if try finish([], SequenceRuns()) { last?.begin() }
  }

  /// Puts the current bundle, which announces `replaced` with the numbers `from`; nil if none, or a need is gone.
  @discardableResult
  func close(
    announcing replaced: Set<BundleName> = [], from: SequenceRuns = SequenceRuns()
  ) throws(StoreError) -> BundleName? {
    let isNew = try finish(replaced, from)
    let name = last?.noted.name
    try finishLast()
    return isNew ? name : nil
  }

  /// Ends the bundle before and the current one, whose PUT can begin then; false if there is none.
  private func finish(
    _ replaced: Set<BundleName>, _ from: SequenceRuns
  ) throws(StoreError) -> Bool {
    try finishLast()
    guard let bundle = current,
      !bundle.writer.isEmpty || !replaced.isEmpty || isNaming
    else { return false }
    current = nil
    if !bundle.needs.isEmpty || isNaming || session.mayFill(view) {
      if !options.send.mayPut(listedAt: session.listing.asked, now: options.clock.boottime()) {
        try session.listAgain()
        view = session.view()
      }
      // A version that is filled in again relied on them before.
      let mayNeed = isFilling ? view.holds : view.counts
      guard bundle.needs.allSatisfy({ mayNeed($0) && !going.contains($0) }) else {
        rejected += bundle.versions.map(\.number)
        isDropped = true
        return false
      }
    }
    let stays = session.claims(view, with: bundle.sequence, without: replaced)
    let (length, hash, directory) = try bundle.writer.finish(
      stays: stays, from: from,
      filled: try session.filled(with: bundle, view, isAll: isPutAll))
    let name = BundleName(
      writer: session.writer, sequence: bundle.sequence, length: length, hash: hash)
    var noted = NotedBundle(name, [.named, .read, .proved], BundleFacts(directory))
    if options.keys != nil { noted.state.insert(.sealed) }
    noted.facts.place = options.place
    try session.note([(noted, bundle.writer.order)])
    try session.prepare()
    last = BundlePut(
      noted, bundle, announcing: replaced, to: session.objects, options.clock)
    return true
  }

  func finishLast() throws(StoreError) {
    guard let put = last else { return }
    last = nil
    var noted = put.noted
    let answer: BundlePut.Answer
    do throws(RemoteError) {
      answer = try put.answered()
    } catch {
      if error.kind == .tooLarge { session.noteTooLarge(noted.name) }
      throw StoreError(error)
    }
    noted.put = answer.byServer ?? answer.time
    if answer.byServer != nil { noted.state.insert(.timed) }
    session.notePut(noted.name)
    puts += 1
    answered += noted.name.length
    noted.state.insert(.put)
    var changes: [(bundle: NotedBundle, items: [HeldItem]?)] = [(noted, nil)]
    for old in put.replaced {
      guard var gone = session.notes[old] else { continue }
      gone.state.insert(.announced)
      gone.announced = answer.time
      changes.append((gone, nil))
    }
    try session.note(changes, versions: [(noted.name.hash, put.versions.map(\.number))])
    sent += put.versions
    relied.formUnion(put.needs.filter { !session.isOwn($0) })
    view = session.view()
  }

  /// Puts the items of this store's versions after a number that no bundle there holds; announces bundles.
  /// - Returns: false if `isAll` is false, or a version is damaged or forgotten here: then another store may have more.
  func fill(
    after first: UInt32, isAll: Bool, announcing replaced: Set<BundleName>
  ) throws(StoreError) -> Bool {
    (isFilling, namesForgotten, isDropped, going) = (true, true, false, replaced)
    hasNamedForgotten = false
    defer { (isFilling, namesForgotten, going) = (false, false, []) }
    let sent = view.names.filter(view.holds).flatMap { session.versions(of: $0) ?? [] }
    let numbers = Set(sent.filter { $0.rawValue > first })
      .union(try store.versionsToSend(control, after: first) { _ in false }).sorted()
    var isAll = isAll
    for (index, number) in numbers.enumerated() {
      try control.check()
      control.report(.reading, index, of: numbers.count)
      guard let record = try store.version(number) else { continue }
      do throws(StoreError) {
        try putItems(of: record)
      } catch {
        // A version that is damaged here cannot fill the remote; others can.
        guard isDamage(error) else { throw error }
        isAll = false
      }
    }
    isAll = isAll && !hasNamedForgotten
    try finishLast()
    // Other writers' bundles that are filled now are named by a bundle, an empty one if need be.
    let named = try session.filled(with: current, view, isAll: isAll && !isDropped)
    isNaming = !session.areSaid(named, view)
    isPutAll = isAll && !isDropped
    defer { (isNaming, isPutAll) = (false, false) }
    if !replaced.isEmpty || isNaming { _ = try bundle() }
    try close(announcing: replaced)
    return isAll
  }

  func putItems(of record: VersionRecord) throws(StoreError) {
    try store.forEachChange(toSendOf: record) { (change) throws(StoreError) in
      _ = try change.map { (entry) throws(StoreError) in try value(entry, mayClose: true) }
    }
  }

  func refresh() {
    current = nil
    view = session.view()
  }

  func without<Result>(
    _ bundles: Set<BundleName>, fetch: @escaping Fetch, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    (going, self.fetch) = (bundles, fetch)
    defer { (going, self.fetch) = ([], nil) }
    return try body()
  }
}
