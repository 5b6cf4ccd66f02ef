package import LLVSCore
package import ObjectStores

/// A remote that holds bundles: the bytes of values once, however many versions have them.
/// Nothing at the remote is trusted, and nothing of another writer is changed or removed.
/// - Concurrency: one exchange of a store with a place at a time.
package struct BundleRemote: RemoteLayout {
  package struct Options: Sendable {
    /// The remote as the user names it: PUTs that no list shows yet count for this place alone.
    package var place: String
    /// True if bundles are removed after their grace.
    package var removes = true
    package var clock = BundleClock.system
    var send = SendRules()
    var removal: RemovalRules
    var combining: CombiningRules?
    package var keys: HeldKeys?
    package var peer = "PEER"
    /// The writers whose bundles this store keeps in place of them, since their devices are lost.
    package var adopted: Set<String> = []
    /// The memory for what bundles that are read side by side say, in bytes.
    var readingBytes = 128 << 20
    /// The name that this store writes under, where it is not its replica id.
    var writer: String?

    /// `isDirectory` is true for a directory, which may be synchronised with devices that are away.
    package init(place: String, isDirectory: Bool) {
      self.place = place
      removal = isDirectory ? .directory : .server
      if !isDirectory { send.leastLength = 64 << 10 }
    }
  }

  /// The session of the step before; one exchange with a place at a time uses it.
  private final class Kept: @unchecked Sendable {
    var session: BundleSession?
  }

  let objects: any ObjectStore
  let options: Options
  private let kept = Kept()

  package init(_ objects: any ObjectStore, _ options: Options) {
    self.objects = objects
    self.options = options
  }

  package func bytes(
    of values: [LackedValue], for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> [Digest: [UInt8]] {
    try step(store, control) { (session) throws(StoreError) in
      let fetcher = ItemFetcher(session)
      var found: [Digest: [UInt8]] = [:]
      for value in values where value.length <= UInt64(LackedBytes.limit) {
        try control.check()
        do throws(StoreError) {
          found[value.digest] = try fetcher.bytes(ofValue: value.digest, length: value.length)
        } catch .invalid, .notFound, .fromTheFuture {
          continue  // Another peer may have it.
        }
      }
      return found
    }
  }

  /// The number of times that bundles are listed again because some were removed in the meantime.
  private static let attempts = 4

  /// Runs a step of a command with the session of the step before, and keeps it for the next.
  private func step<Result>(
    _ store: Store, _ control: ExchangeControl, isLast: Bool = false,
    afterPart: (BundleSession, [BundleName]) throws(StoreError) -> Void = { (_, _) in },
    _ body: (BundleSession) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let session: BundleSession
    let known = kept.session
    // After an error nothing is known for certain.
    kept.session = nil
    if let known, known.store === store, try known.resume(control) {
      session = known
    } else {
      session = try BundleSession(store, objects, options, control, afterPart: afterPart)
    }
    let result = try body(session)
    try session.settle()
    if !isLast { kept.session = session }
    return result
  }

  /// Returns an outline of the history there; reads only bundles that were not read before.
  package func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    try step(store, control) { (session) throws(StoreError) in
      // A place with any known object, also a torn one, is the right one, and is repaired.
      let hasTorn = session.listing.torn.contains {
        BundleName($0).flatMap { session.notes[$0] } != nil
      }
      guard !hasTorn, try session.unread().count == session.listing.names.count else {
        var outline = PlaceOutline()
        outline.isShared = true
        return outline
      }
      return try store.outline(of: BundleRemoteSource(session), control: control)
    }
  }

  package func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    var earlier = ExchangeReport()
    for attempt in 1...Self.attempts {
      let newest = try store.state().lastNumber
      var source: BundleRemoteSource?
      // An interruption loses the part that is on its way.
      let afterPart = { (session: BundleSession, names: [BundleName]) throws(StoreError) in
        if source == nil { try session.refuseKeys() }
        let opened = try BundleRemoteSource(session, of: names)
        source = opened
        let part = try store.retrieve(
          from: opened, control: control.part(after: earlier.taken.count))
        try session.noteTaken(opened.unread)
        earlier.taken += part.taken
        earlier.takenNumbers += part.takenNumbers
      }
      do throws(StoreError) {
        return try step(store, control, afterPart: afterPart) { (session) throws(StoreError) in
          let opened = try BundleRemoteSource(session)
          source = opened
          let control = control.part(after: earlier.taken.count, isLast: true)
          var report = try store.retrieve(from: opened, session, after: earlier, control: control)
          // A new store has no way to know what else was there.
          let view = session.view()
          let unknown = newest == 0 ? session.needless.filter { !view.isFilled($0) }.count : 0
          if unknown > 0 { report.notes.append(BundleSession.unneeded(unknown)) }
          return report
        }
      } catch {
        // A writer has removed bundles: what was in them is in others by now.
        guard case .notFound(let name) = error, let source else { throw error }
        guard attempt < Self.attempts else {
          throw .unreachable("\(name) was there and is gone again and again")
        }
        let known = Set(earlier.taken)
        for id in source.versionIDs() where !known.contains(id) {
          guard let record = try store.version(id), record.number.rawValue > newest else {
            continue
          }
          earlier.taken.append(id)
          earlier.takenNumbers.append(record.number)
        }
      }
    }
    preconditionFailure("the last attempt returns or throws")
  }

  /// Checks that a writer's bundles may be taken over.
  /// - Throws: ``StoreError/notFound(_:)`` with the writers there, ``StoreError/invalid(_:)`` for this store
  ///   itself, ``StoreError/busy(_:)`` if the writer put something in the last 30 days.
  package func checkAdoption(
    of writer: String, by store: Store, _ control: ExchangeControl
  ) throws(StoreError) {
    let session = try BundleSession(store, objects, options, control)
    try session.settle()
    let view = session.view()
    let others = view.writers.filter { $0 != session.writer }
    guard writer != session.writer else { throw .invalid("\(writer) is this store itself") }
    guard others.contains(writer) else {
      let list = others.isEmpty ? "none" : others.joined(separator: ", ")
      throw .notFound("writer \(writer); others than this store are: \(list)")
    }
    guard let last = session.lastPut(of: writer) else {
      throw .busy("the remote does not say when \(writer) put something last")
    }
    let now = max(session.listing.newest ?? 0, session.listing.now)
    guard now - last >= Self.silence else {
      throw .busy(
        "\(writer) put something within the last 30 days; only bundles of a device that is lost are taken over"
      )
    }
  }

  /// The time without a PUT after which a writer counts as lost, in seconds.
  private static let silence: Int64 = 30 * 24 * 3600

  package func verify(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try step(store, control) { (session) throws(StoreError) in
      var report = try session.verify()
      for reason in try keyFaults(store) {
        let id = Version.ID(KeyFileName.directory)
        report.refused.append(ExchangeReport.Fault(id: id, reason: reason, isObject: true))
      }
      return report
    }
  }

  /// Returns what keeps passphrases from opening an encrypted place, after a repair if `isRestoring`.
  private func keyFaults(
    _ store: Store, isRestoring: Bool = false
  ) throws(StoreError) -> [String] {
    guard options.keys != nil else { return [] }
    let (restored, faults) = try KeyRing(
      objects, peer: options.peer, place: options.place, store: store
    ).check(options.peer, isRestoring: isRestoring)
    let note: [UInt8] = faults.isEmpty ? [] : [1]
    if store.noted(keysLost) ?? [] != note { store.note(keysLost, note) }
    let files = "\(restored) lost or damaged key file\(restored == 1 ? "" : "s") put back"
    return (restored > 0 ? [files] : []) + faults
  }

  /// The note of a store that the last check found key files missing or damaged.
  private var keysLost: String { "keys.lost \(options.place)" }

  /// Writes missing versions except contained heads (docs/merging.md, M5), and removes bundles after their grace.
  package func send(
    from store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try step(store, control, isLast: true) { (session) throws(StoreError) in try send(session) }
  }

  /// Forgets what was seen at a place: the next send there compares everything.
  package static func forget(_ place: String, in store: Store) throws(StoreError) {
    try BundleSession.forget(place, in: store)
    BundleUpkeep.compareAll(at: place, in: store)
  }

  /// Sends, again with shorter bundles where the server refuses long ones.
  private func send(_ session: BundleSession) throws(StoreError) -> ExchangeReport {
    var sent: [Version.ID] = []
    while true {
      let sender = try BundleSender(session)
      let largest = session.largestBundle ?? .max
      do throws(StoreError) {
        var report = try send(session, sender)
        report.sent = sent + report.sent
        return report
      } catch {
        guard case .noSpace = error, session.largestBundle ?? .max < largest else { throw error }
        sent += sender.sent.map(\.id)
      }
    }
  }

  private func send(
    _ session: BundleSession, _ sender: BundleSender
  ) throws(StoreError) -> ExchangeReport {
    let upkeep = BundleUpkeep(session, sender)
    var missing = try sender.missing()
    if try session.lacksKey() {
      guard missing.isEmpty else {
        throw .denied(
          "there is a key that this store lacks; \"llvs key open \(options.peer)\" asks for its passphrase"
        )
      }
      return ExchangeReport()
    }
    if try upkeep.findsDamage(isSending: !missing.isEmpty) { missing = try sender.missing() }
    let before = session.holes()
    var report = try sender.send(missing)
    let lacking = session.lacksBytes
    let puts = sender.puts
    try upkeep.fill()
    report.notes += session.mended(since: before)
    if lacking, sender.puts > puts {
      report.notes.append("bytes that other machines had forgotten were added")
    }
    do throws(StoreError) {
      try upkeep.run()
    } catch .unreachable, .timedOut, .denied, .notFound, .noSpace, .invalid {
      // All versions to send are there, and so is everything old: the next send tries again.
    }
    // A sync without news is one request to a server.
    let isNear = objects.capabilities.contains(.isNear)
    if isNear || !report.sent.isEmpty || session.store.noted(keysLost) == [1] {
      report.notes += try keyFaults(session.store, isRestoring: true)
    }
    report.leavesNoHole = (session.refused + session.reports).isEmpty
    report.mayBeDamaged = !session.holes().isEmpty || session.store.noted(keysLost) == [1]
    return report
  }
}

extension Store {
  fileprivate func retrieve(
    from source: BundleRemoteSource, _ session: BundleSession, after earlier: ExchangeReport,
    control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    var report = try retrieve(from: source, control: control)
    while source.useOtherCopies(of: report.refused.map(\.id)) {
      let again = try retrieve(from: source, control: control)
      report.taken += again.taken
      report.takenNumbers += again.takenNumbers
      report.refused = again.refused
      report.waiting = again.waiting
    }
    try session.noteTaken(source.unread)
    try session.noteFoundDamage()
    let isWhole = report.refused.isEmpty && report.waiting.isEmpty
    report.refused = session.refused + (isWhole ? [] : session.damaged) + report.refused
    report.waiting = session.reports + report.waiting
    report.taken = earlier.taken + report.taken
    report.takenNumbers = earlier.takenNumbers + report.takenNumbers
    return report
  }
}
