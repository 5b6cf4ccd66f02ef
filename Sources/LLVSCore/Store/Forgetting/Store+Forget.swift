internal import Platform

/// What a run of ``Store/forget(_:at:isTrial:limit:besides:control:)`` did, or would do.
package struct ForgetReport: Hashable, Sendable {
  /// The versions that are forgotten now or were before.
  package var forgotten = 0
  package var newlyForgotten = 0
  /// The length of the records that are gone now, in bytes.
  package var goneBytes: UInt64 = 0
  /// The part of the records that fills whole blocks of the disk, in bytes: only that comes free. It includes what an
  /// interrupted run has left.
  package var freeableBytes: UInt64 = 0
  /// The space that came free on the disk, in bytes.
  package var freedBytes: UInt64 = 0
  /// True if the file system makes no holes, so that no space comes free.
  package var lacksHoles = false
}

/// The caller's functions for a run of ``Store/forget(_:at:isTrial:limit:besides:control:)``.
package struct ForgetControl {
  package enum Step: Hashable, Sendable {
    /// Reads the maps of versions; counts each reading of a map.
    case reading
    /// Frees the disk's blocks; counts bytes.
    case freeing
  }

  /// Called often; true ends the run.
  package var isCancelled: () -> Bool = { false }
  package var progress: (_ step: Step, _ done: UInt64, _ total: UInt64) -> Void = { _, _, _ in }
  /// Called before each decision with everything that the run found, this decision's bytes included. If it returns
  /// false, the run ends and has not made the decision.
  package var isWorthIt: (ForgetReport) -> Bool = { _ in true }
  /// How much longer the run rests than it frees blocks, so that programs can use the disk.
  package var restFactor: UInt64 = 0
  /// Called before each decision, to find out where its bytes are.
  package var examine: ((inout Forgettable) throws(StoreError) -> Void)?

  package init() {}
}

/// What one decision forgets.
package struct Forgettable {
  /// The versions that are forgotten with it, and all that were before, ascending.
  package let versions: [VersionNumber]
  package let newVersions: Set<VersionNumber>
  private var sweep: Sweep

  fileprivate init(_ decision: Decision) {
    versions = decision.forgotten
    newVersions = Set(decision.newlyForgotten)
    sweep = decision.sweep
  }

  /// Returns the bytes that come free with a value, except those that an earlier call has counted.
  package mutating func take(_ stored: StoredContent) throws(StoreError) -> UInt64 {
    try sweep.take(stored)
  }
}

extension Store {
  /// The most candidates of one sweep, which take about 25 MB.
  package static let sweepLimit = 1 << 20

  /// Returns the versions whose bytes this store has forgotten or never got.
  package func forgottenVersions() throws(StoreError) -> NumberSet {
    try catalog.read { (database) throws(StoreError) in try database.forgottenVersions() }
  }

  /// Returns the versions that this store got without some of their bytes.
  package func absentVersions() throws(StoreError) -> NumberSet {
    try catalog.read { (database) throws(StoreError) in try database.absentVersions() }
  }

  /// Forgets the bytes of the versions that neither a policy nor anything else needs (``RootKind``), and frees their
  /// space. Versions, heads, digests, names and attributes stay.
  ///
  /// The versions and what they refer to are looked for without a lock. Then, in a transaction, everything that was
  /// committed since is kept too, and the decision becomes durable (S12). No transaction is open at that time, so each
  /// reference to a record is either committed or made afterwards, when the record is known to be gone (S13).
  ///
  /// `outside` returns what the caller needs; it is called twice, the second time inside the transaction. `isTrial`
  /// decides nothing. A canceled or interrupted run continues with the next one.
  /// - Throws: ``StoreError/invalid(_:)`` if the clock is before a version's; ``StoreError/corrupt(_:)`` if damage
  ///   hides what is needed. Then nothing is forgotten.
  @discardableResult
  package func forget(
    _ policy: KeepPolicy, at now: Int64 = SystemClock.now(), isTrial: Bool = false,
    limit: Int = Store.sweepLimit,
    besides outside: () throws(StoreError) -> OutsideRoots = { OutsideRoots() },
    control: ForgetControl = ForgetControl()
  ) throws(StoreError) -> ForgetReport {
    guard mode == .writer else { throw .readOnly }
    var report = ForgetReport()
    report.freeableBytes = try unfreedBytes()
    var first: UInt32? = 0
    while let segment = first {
      try checkClock(now)
      var decision = try Decision(
        policy, of: self, at: now, from: segment, limit: limit, outside: outside(), control)
      try decision.find()
      first = decision.sweep.rest
      if let examine = control.examine {
        var found = Forgettable(decision)
        try examine(&found)
      }
      var found = report
      found.add(decision)
      guard control.isWorthIt(found) else { break }
      if isTrial {
        report = found
        continue
      }
      try write { (transaction) throws(StoreError) in
        try decision.add(newsWith: outside())
        transaction.isCancelled = control.isCancelled
        if let forgetting = try decision.forgetting() { transaction.forget(forgetting) }
      }
      report.add(decision)
      report.add(try free(control))
    }
    return report
  }

  private func checkClock(_ now: Int64) throws(StoreError) {
    let newest = try catalog.read { (database) throws(StoreError) in
      try database.integer("SELECT max(stored_at) FROM versions") ?? 0
    }
    guard now >= newest else {
      throw .invalid("the clock is before the last version's, so nothing is forgotten")
    }
  }
}

extension ForgetReport {
  fileprivate mutating func add(_ decision: Decision) {
    forgotten = decision.forgotten.count
    newlyForgotten = max(newlyForgotten, decision.newlyForgotten.count)
    goneBytes += decision.sweep.bytes
    freeableBytes += decision.freeable
  }

  fileprivate mutating func add(_ freed: FreedSpace) {
    freedBytes += freed.bytes
    lacksHoles = freed.lacksHoles
  }
}

/// One decision: the versions to forget, and the records that come free.
private struct Decision {
  private let store: Store
  private let policy: KeepPolicy
  private let now: Int64
  private(set) var sweep: Sweep
  /// The bytes of whole blocks that the sweep found.
  private(set) var freeable: UInt64 = 0
  private var roots: Roots
  /// The newest version and the newest row of the log of heads that the roots include.
  private let last: UInt32
  private let lastHead: Int64
  private let earlier: NumberSet
  private let control: ForgetControl
  /// The maps that were read.
  private var done: UInt64 = 0

  init(
    _ policy: KeepPolicy, of store: Store, at now: Int64, from first: UInt32, limit: Int,
    outside: OutsideRoots, _ control: ForgetControl
  ) throws(StoreError) {
    (self.store, self.policy, self.now, self.control) = (store, policy, now, control)
    sweep = Sweep(of: store, from: first, limit: limit, isCancelled: control.isCancelled)
    // Versions and heads that are committed while the roots are read are looked at in the transaction again.
    last = try store.state().lastNumber
    lastHead = try store.lastHeadEntry()
    roots = try store.roots(policy, at: now, outside: outside)
    earlier = try store.forgottenVersions()
  }

  private func isKept(_ number: VersionNumber) -> Bool {
    number.rawValue > last || roots.versions.contains(number)
  }

  /// The forgotten versions, earlier ones included.
  var forgotten: [VersionNumber] {
    guard last > 0 else { return [] }
    return (1...last).lazy.map { VersionNumber($0) }
      .filter { earlier.contains($0) || !isKept($0) }
  }

  var newlyForgotten: [VersionNumber] { forgotten.filter { !earlier.contains($0) } }

  mutating func find() throws(StoreError) {
    try forEach(kept: true) { (sweep, map) throws(StoreError) in try sweep.mark(map) }
    for map in roots.maps { try sweep.mark(map) }
    try forEach(kept: false) { (sweep, map) throws(StoreError) in try sweep.collect(map) }
    guard !sweep.isEmpty else { return }
    try forEach(kept: true) { (sweep, map) throws(StoreError) in try sweep.keep(map) }
    try keepOthers(roots)
    freeable = try sweep.freeable()
  }

  private mutating func keepOthers(_ roots: Roots) throws(StoreError) {
    for map in roots.maps { try sweep.keep(map) }
    for stored in roots.contents { try sweep.keep(stored) }
  }

  private mutating func forEach(
    kept: Bool, _ body: (inout Sweep, MapRoot) throws(StoreError) -> Void
  ) throws(StoreError) {
    let kinds = (1...max(last, 1)).count { isKept(VersionNumber($0)) }
    let total = UInt64(Int(last) + kinds)
    var next: UInt32 = 0
    while next < last {
      if control.isCancelled() { throw .cancelled }
      control.progress(.reading, done, total)
      let lines = try store.catalog.read { (database) throws(StoreError) in
        try database.versionLines(after: next, limit: 256)
      }
      for line in lines where line.number.rawValue <= last && isKept(line.number) == kept {
        try body(&sweep, line.map)
        done += 1
      }
      guard let end = lines.last else { return }
      next = end.number.rawValue
    }
  }

  /// Keeps what became needed since the roots were read, inside the transaction that forgets the rest.
  mutating func add(newsWith outside: OutsideRoots) throws(StoreError) {
    let newest = try store.state().lastNumber
    let newestHead = try store.lastHeadEntry()
    let news =
      newest == last && newestHead == lastHead
      ? Roots(outside) : try store.roots(policy, at: now, after: last, outside: outside)
    for number in news.versions.subtracting(roots.versions).sorted() {
      try sweep.keep(try store.history.record(number).map)
    }
    roots.versions.formUnion(news.versions)
    try keepOthers(news)
    for number in last..<newest {
      try sweep.keep(try store.history.record(VersionNumber(number + 1)).map)
    }
  }

  /// Returns the decision; nil if there is nothing to forget.
  func forgetting() throws(StoreError) -> Forgetting? {
    guard !newlyForgotten.isEmpty || !sweep.isEmpty else { return nil }
    return Forgetting(
      decision: ForgettingDecision(time: now, policy: policy.text), added: newlyForgotten,
      versions: forgotten, gone: try sweep.gone())
  }
}

extension Store {
  /// The number of the newest entry of the log of heads; 0 without one.
  fileprivate func lastHeadEntry() throws(StoreError) -> Int64 {
    try catalog.read { (database) throws(StoreError) in
      try database.integer("SELECT max(sequence) FROM head_log") ?? 0
    }
  }
}
