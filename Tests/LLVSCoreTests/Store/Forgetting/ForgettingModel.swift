/// A store with four records in one segment, in the few steps that forgetting has (`Store+Forget`). Every state that
/// the steps lead to is visited, with each protection switched off in turn.
///
/// Record 0 is a whole one of version 0, record 1 a patch of it of version 1, and record 2 a whole one of version 2.
/// Version 3 comes later: it has bytes of its own or those of record 0, or a patch of record 0. A file with pending
/// changes may rest on record 0.
struct ForgettingModel: Hashable {
  /// What keeps bytes from being lost. The comments say where the code has it.
  enum Protection: CaseIterable {
    /// Candidates are removed with the bases of what is kept (`Sweep.keep`).
    case bases
    /// What was committed since the search is kept (`Decision.add(newsWith:)`).
    case news
    /// What was found before a transaction is looked at again in it (S13, `ContentStore.write`).
    case foundEarlier
    /// The index finds no record that is gone (S13, `ContentStore.found`).
    case index
    /// No patch gets a base that is gone (S13, `RecordStore.wholes`).
    case newBases
    /// Bases of files with pending changes are kept (`RootKind.outside`).
    case pending
    /// The decision is durable before bytes are destroyed (S12).
    case order
    /// No repair writes into what is gone (S13, `RecordStore.repair`).
    case repair
    /// A reader looks in a fresh catalog before it reports damage (S14).
    case fresh
    /// A backup is repeated if a decision was made concurrently (`Store.backup`).
    case backup
  }

  enum Bytes { case none, whole, hole }

  /// What a version's value is in: a record, or nothing yet.
  private var records: [Bytes] = [.whole, .whole, .whole, .none]
  /// True for a record that rests on record 0.
  private var isPatch = [false, true, false, false]
  /// The record of each version's value; nil if there is no such version.
  private var versions: [Int?] = [0, 1, 2, nil]
  private var gone: Set<Int> = []
  /// The candidates of a decision that is being made.
  private var candidates: Set<Int>?
  /// The versions that the decision knows.
  private var seen = 0
  /// A record that a writer found outside of its transaction.
  private var found: Int?
  /// A file has pending changes of version 0's value.
  private var isPending = false
  /// What a reader knows to be gone.
  private var snapshot: Set<Int>?
  private var copied: Copy?
  private var wasRepaired = false
  /// The first thing that went wrong.
  private(set) var loss: String?

  private struct Copy: Hashable {
    var gone: Set<Int>
    var versions: [Int?]
  }

  init() {}

  // MARK: Reading

  /// The records that reading a record needs.
  private func needs(_ record: Int) -> Set<Int> { isPatch[record] ? [record, 0] : [record] }

  private func isReadable(_ record: Int) -> Bool {
    needs(record).allSatisfy { records[$0] == .whole }
  }

  /// The versions that a policy keeps: the last one.
  private var keptVersions: [Int] { versions.lastIndex { $0 != nil }.map { [$0] } ?? [] }

  private mutating func check() {
    guard loss == nil else { return }
    for version in keptVersions {
      if let record = versions[version], !isReadable(record) { loss = "version \(version) is lost" }
    }
    if isPending, !isReadable(0) { loss = "a pending file is lost" }
  }

  // MARK: Steps

  /// The states after one step of anything that acts on the store.
  func successors(_ on: Set<Protection>) -> [ForgettingModel] {
    var next: [ForgettingModel] = []
    func step(_ body: (inout ForgettingModel) -> Bool) {
      var copy = self
      guard copy.loss == nil, body(&copy) else { return }
      copy.check()
      if copy != self { next.append(copy) }
    }
    step { $0.write() }
    step { $0.find(on) }
    step { $0.store(on) }
    step { $0.storeEqual(on) }
    step { $0.storePatch(on) }
    step { $0.openFile() }
    step { $0.collect(on) }
    step { $0.decide(on) }
    for record in 0..<4 { step { $0.punch(record, on) } }
    step { $0.crash() }
    step { $0.beginReading() }
    for record in 0..<2 { step { $0.read(record, on) } }
    step { $0.repair(on) }
    step { $0.copyCatalog() }
    step { $0.copySegments(on) }
    return next
  }

  /// A version with bytes of its own, so that the others are old.
  private mutating func write() -> Bool {
    guard versions[3] == nil, found == nil else { return false }
    records[3] = .whole
    versions[3] = 3
    return true
  }

  /// A writer has the bytes of record 0 and asks the index for them, before its transaction.
  private mutating func find(_ on: Set<Protection>) -> Bool {
    guard versions[3] == nil, found == nil, records[0] == .whole else { return false }
    if on.contains(.index), gone.contains(0) { return false }
    found = 0
    return true
  }

  /// The transaction of that writer.
  private mutating func store(_ on: Set<Protection>) -> Bool {
    guard let place = found, versions[3] == nil else { return false }
    found = nil
    if on.contains(.foundEarlier), gone.contains(place) {
      records[3] = .whole
      versions[3] = 3
    } else {
      versions[3] = place
    }
    return true
  }

  /// A transaction finds the bytes of record 0 by the index, and does not store them.
  private mutating func storeEqual(_ on: Set<Protection>) -> Bool {
    guard versions[3] == nil, found == nil, records[0] == .whole,
      !on.contains(.index) || !gone.contains(0)
    else { return false }
    versions[3] = 0
    return true
  }

  /// A version whose value is a patch of record 0, which can still be read.
  private mutating func storePatch(_ on: Set<Protection>) -> Bool {
    guard versions[3] == nil, found == nil, records[0] == .whole else { return false }
    if on.contains(.newBases), gone.contains(0) { return false }
    records[3] = .whole
    isPatch[3] = true
    versions[3] = 3
    return true
  }

  /// A file of version 0, which some tree shows, is changed; as long as the version is not forgotten.
  private mutating func openFile() -> Bool {
    guard !isPending, gone.isEmpty, candidates == nil else { return false }
    isPending = true
    return true
  }

  /// The search without a lock.
  private mutating func collect(_ on: Set<Protection>) -> Bool {
    guard candidates == nil else { return false }
    seen = versions.count { $0 != nil }
    candidates = Set([0, 1, 2].filter { !gone.contains($0) })
    keep(on)
    return candidates?.isEmpty == false
  }

  private mutating func keep(_ on: Set<Protection>) {
    for version in keptVersions where version < seen || on.contains(.news) {
      guard let record = versions[version] else { continue }
      let needed = on.contains(.bases) ? needs(record) : [record]
      candidates?.subtract(needed)
    }
    if isPending, on.contains(.pending) { candidates?.remove(0) }
  }

  /// The transaction that makes the decision durable.
  private mutating func decide(_ on: Set<Protection>) -> Bool {
    guard candidates != nil else { return false }
    keep(on)
    gone.formUnion(candidates ?? [])
    candidates = nil
    return true
  }

  private mutating func punch(_ record: Int, _ on: Set<Protection>) -> Bool {
    let isAllowed =
      gone.contains(record) || !on.contains(.order) && candidates?.contains(record) == true
    guard isAllowed, records[record] == .whole else { return false }
    records[record] = .hole
    return true
  }

  /// The process dies; what is committed stays.
  private mutating func crash() -> Bool {
    (candidates, found, snapshot) = (nil, nil, nil)
    return true
  }

  private mutating func beginReading() -> Bool {
    guard snapshot == nil else { return false }
    snapshot = gone
    return true
  }

  /// A reader of an old version gets bytes, or learns why it gets none.
  private mutating func read(_ record: Int, _ on: Set<Protection>) -> Bool {
    guard let snapshot, !isReadable(record) else { return false }
    let known = on.contains(.fresh) ? gone : snapshot
    if needs(record).isDisjoint(with: known) { loss = "forgotten bytes are called damaged" }
    return loss != nil
  }

  /// Equal bytes come again, and a record that cannot be read gets them.
  private mutating func repair(_ on: Set<Protection>) -> Bool {
    guard records[0] == .hole, !wasRepaired else { return false }
    if on.contains(.repair), gone.contains(0) { return false }
    wasRepaired = true
    records[0] = .whole
    // The bytes that came are those of a version, which gets the place.
    if versions[3] == nil { versions[3] = 0 }
    return true
  }

  private mutating func copyCatalog() -> Bool {
    guard copied == nil else { return false }
    copied = Copy(gone: gone, versions: versions)
    return true
  }

  /// The segments are copied later than the catalog.
  private mutating func copySegments(_ on: Set<Protection>) -> Bool {
    guard let copy = copied else { return false }
    copied = nil
    if on.contains(.backup), copy.gone != gone { return true }
    for record in copy.versions.compactMap(\.self) {
      let lost = needs(record).filter { records[$0] != .whole && !copy.gone.contains($0) }
      if !lost.isEmpty { loss = "a backup has damage" }
    }
    return true
  }
}
