/// A bundle of a list, with the facts known about it.
struct KnownBundle: Hashable, Sendable {
  var name: BundleName
  /// Its claims about which bundles stay; empty if it was not read.
  var claims: [BundleClaim] = []
  /// The bundles of others that it says are filled.
  var filled: [BundleNeed] = []
  var reading = Reading.read

  /// The state of reading a bundle's directory.
  enum Reading: Hashable, Sendable {
    case read
    /// Its directory was read, and bytes of it are wrong: its claims are known, and it holds nothing.
    case damaged
    /// It is no bundle, or a damaged one: it needs nothing, and its claims are not known.
    case malformed
    /// It is of a newer format or an unknown key: what it needs and claims is not known.
    case unknown
  }
}

/// A remote of bundles as one list shows it: which bundles may be relied on (`RemoteRuleModelTests`).
///
/// The promise: every item of a version that was sent stays in some bundle, whatever other writers do, as long as
/// lists are late by at most half the grace before a removal.
///
/// INVARIANT X1: ``counts(_:)`` alone decides which bundles are newly relied on: for leaving an item out,
///   for a send that is complete, for what may be removed. ``holds(_:)`` alone decides what can be read there.
/// INVARIANT X9: a filled bundle counts for no store: it goes as an announced one does, once its writer has announced
///   it.
/// INVARIANT X10: a bundle that is not needed counts as before for a store that can read it. Each store compares all
///   that it has with the bundles that count after such a statement, and after a new bundle that needs that one.
/// INVARIANT X2: an announced bundle counts for no store, and never counts again: every later bundle
///   of its writer repeats the announcement.
struct RemoteView: Sendable {
  private struct Statement: Sendable {
    let by: BundleName
    let claim: BundleClaim
  }

  private var known: [BundleName: KnownBundle] = [:]
  private var statements: [String: [Statement]] = [:]
  /// For each writer the sequence numbers of bundles that are going to be removed.
  private var announced: [String: SequenceRuns] = [:]
  /// The statements of bundles that announce themselves, which counts for the other bundles only.
  private var ofThemselves: [String: [Statement]] = [:]
  /// The sequence numbers of filled bundles, and for each the first bytes of its hash.
  private var filled: [String: [UInt64: UInt64]] = [:]
  /// The bundles that another writer could not read, and that nothing there needs.
  private(set) var unneeded: Set<BundleNumber> = []
  /// For each writer the greatest sequence number of a bundle that could not be read.
  private var unread: [String: UInt64] = [:]
  /// For each writer the greatest sequence number of its bundles whose claims are known.
  private var claiming: [String: UInt64] = [:]

  /// The reading store's own writers. Their bundles count at any length.
  private let own: Set<String>
  /// The least length of other writers' bundles that count.
  private let leastLength: UInt64

  init(
    _ bundles: some Sequence<KnownBundle>, own: Set<String> = [], leastLength: UInt64 = 0
  ) {
    self.own = own
    self.leastLength = leastLength
    for bundle in bundles { note(bundle) }
    names = known.keys.sorted()
    for (writer, all) in statements { announce(all, of: writer) }
  }

  private mutating func note(_ bundle: KnownBundle) {
    known[bundle.name] = bundle
    for claim in bundle.claims {
      statements[claim.writer, default: []].append(Statement(by: bundle.name, claim: claim))
    }
    let (writer, sequence) = (bundle.name.writer, bundle.name.sequence)
    for other in bundle.filled where other.writer != writer {
      guard !other.isUnneeded else {
        unneeded.insert(BundleNumber(other))
        continue
      }
      filled[other.writer, default: [:]][other.sequence] = other.hashStart
    }
    if bundle.reading == .malformed || bundle.reading == .unknown {
      unread[writer] = max(unread[writer] ?? 0, sequence)
    } else if bundle.claims.contains(where: { $0.writer == writer }) {
      claiming[writer] = max(claiming[writer] ?? 0, sequence)
    }
  }

  /// Adds a bundle that is not in the view, as a PUT does.
  /// - Complexity: O(bundles + runs of what is announced).
  mutating func add(_ bundle: KnownBundle) {
    precondition(known[bundle.name] == nil, "a bundle is in a view once")
    note(bundle)
    // The new one is the last of its writer's, and so near the end.
    let place = (names.lastIndex { $0 < bundle.name }).map { $0 + 1 } ?? 0
    names.insert(bundle.name, at: place)
    for claim in bundle.claims {
      gather(Statement(by: bundle.name, claim: claim), of: claim.writer)
    }
  }

  /// - Complexity: O(runs of all statements), since the newest repeats what the others announce.
  private mutating func announce(_ all: [Statement], of writer: String) {
    for statement in all.sorted(by: { $1.by < $0.by }) { gather(statement, of: writer) }
  }

  private mutating func gather(_ statement: Statement, of writer: String) {
    let claim = statement.claim
    guard !claim.announces(statement.by) else {
      ofThemselves[writer, default: []].append(statement)
      return
    }
    let gathered = announced[writer, default: SequenceRuns()]
    if !gathered.holdsGaps(of: claim.kept, upTo: claim.upTo) {
      announced[writer] = gathered.union(claim.kept.gaps(upTo: claim.upTo))
    }
  }

  private(set) var names: [BundleName] = []
  func reading(of name: BundleName) -> KnownBundle.Reading? { known[name]?.reading }

  /// Returns true if a bundle other than itself says that it is going to be removed.
  /// - Complexity: O(log runs of what is announced).
  func isAnnounced(_ name: BundleName) -> Bool {
    if isGone(name.writer, name.sequence) { return true }
    return ofThemselves[name.writer]?.contains { $0.by != name && $0.claim.announces(name) }
      ?? false
  }

  /// Returns true if a later bundle announces a number of a writer's, whether that bundle is listed or not.
  func isGone(_ writer: String, _ sequence: UInt64) -> Bool {
    announced[writer]?.contains(sequence) == true
  }

  /// Returns true if another writer found a bundle lost or damaged, and put all that it held into bundles that count.
  func isFilled(_ name: BundleName) -> Bool {
    filled[name.writer]?[name.sequence] == BundleNeed(name).hashStart
  }

  /// Returns true if a bundle of this number is filled.
  func isFilled(_ writer: String, _ sequence: UInt64) -> Bool {
    filled[writer]?[sequence] != nil
  }

  /// Returns true if nothing there needs a bundle of this number, by what another writer knows.
  func isNeedless(_ number: BundleNumber) -> Bool {
    isFilled(number.writer, number.sequence) || unneeded.contains(number)
  }

  func isNeedless(_ name: BundleName) -> Bool {
    isFilled(name) || unneeded.contains(BundleNumber(name))
  }

  func announcing(_ name: BundleName) -> [BundleName] {
    (statements[name.writer] ?? []).filter { $0.by != name && $0.claim.announces(name) }.map(\.by)
  }

  /// Returns true if another writer speaks for this one, which it has adopted.
  func isAdopted(_ writer: String) -> Bool {
    statements[writer]?.contains { $0.by.writer != writer } ?? false
  }

  /// Returns true if what a bundle holds can be read there and stays: it was read, is whole, and neither announced
  /// nor filled.
  func holds(_ name: BundleName) -> Bool {
    known[name]?.reading == .read && !isAnnounced(name) && !isFilled(name)
  }

  /// Returns true if a bundle holds its contents, no unread bundle of its writer could announce it, and it is not
  /// so small that its writer may remove it before the grace period.
  ///
  /// A later bundle of the writer repeats what an unread one announces. What is sent already does not depend on
  /// unread bundles: a remover puts again what others need.
  func counts(_ name: BundleName) -> Bool {
    guard holds(name), name.length >= leastLength || own.contains(name.writer) else { return false }
    guard let unread = unread[name.writer] else { return true }
    return unread <= max(name.sequence, claiming[name.writer] ?? 0)
  }

  /// Bundles whose dependencies are unknown. While any exist, no bundle may be removed.
  var unknown: [BundleName] { known.values.filter { $0.reading == .unknown }.map(\.name).sorted() }

  /// Returns the sequence numbers that a writer's newest bundle says stay, and that are missing.
  func missing(of writer: String) -> [UInt64] {
    let own = known.values.filter { $0.name.writer == writer }
    guard
      let newest = own.filter({ $0.reading == .read || $0.reading == .damaged }).max(by: {
        $0.name < $1.name
      }),
      let claim = newest.claims.first(where: { $0.writer == writer })
    else { return [] }
    let there = Set(own.map(\.name.sequence))
    var missing: [UInt64] = []
    for run in claim.kept.runs {
      // A stranger may claim any number of bundles; 1024 are enough for a report.
      for sequence in run where !there.contains(sequence) {
        missing.append(sequence)
        if missing.count >= 1024 { return missing }
      }
    }
    return missing
  }

  var writers: [String] { Set(known.keys.map(\.writer)).sorted() }
}
