import Events
package import Grammar
package import LLVSCore
import LLVSExchange
import ObjectStores
import Platform

extension ControlService {
  /// Throws for one half of an exchange with a named peer that does only the other half.
  func refuse(_ halves: [ExchangeHalf], named names: [String]) throws(ControlError) {
    guard halves.count == 1, let half = halves.first else { return }
    for name in names {
      let direction = try peerSettings(name).direction
      guard direction == (half == .send ? .retrieveOnly : .sendOnly) else { continue }
      throw ControlError(
        .notPermitted,
        "\(name) is \(direction.rawValue); \"llvs set \(name).direction=both\" changes that")
    }
  }

  func telling(
    _ outcome: inout ExchangeOutcome,
    _ body: (inout ExchangeOutcome) throws -> Void
  ) {
    do {
      try body(&outcome)
    } catch {
      let error = ControlError(any: error)
      if error.kind == .interrupted { outcome.interrupt() } else { outcome.fail(error) }
    }
  }

  func reply(_ outcome: ExchangeOutcome) throws -> CommandResult {
    let fields = outcome.reply(
      head: try headRecord()?.name, openConflicts: try countOpenConflicts())
    guard var failure = outcome.failure else { return CommandResult(outcome.text, fields) }
    failure.done = ControlError.Done(text: outcome.text, fields: fields)
    throw failure
  }

  /// Returns the peers with these names, each once; all peers without names.
  func peers(named names: [String]) throws(ControlError) -> [Peer] {
    if settings.isolated {
      throw ControlError(
        .notPermitted,
        "this store is isolated, as a backup is; \"llvs set isolated=off\" lets it exchange")
    }
    guard !names.isEmpty else { return try allPeers() }
    var found: [Peer] = []
    for name in names where !found.contains(where: { $0.name == name }) {
      found.append(try peer(name))
    }
    return found
  }

  /// The most peers that are served at once.
  static let peersAtOnce = 4

  /// Does one half of the exchange with the peers, several at once; a failure of one does not stop the others.
  func run(
    _ half: ExchangeHalf, with peers: [Peer], _ session: PeerSession,
    _ outcome: inout ExchangeOutcome
  ) throws(ControlError) {
    let open = peers.filter { !outcome.isOver($0.name) }
    let ended = Monitor<[Int: Result<ExchangeReport?, ControlError>]>([:])
    RequestThreads.each(open.count, width: Self.peersAtOnce) { [self] (index) throws(Never) in
      let result = Result { () throws(ControlError) -> ExchangeReport? in
        let direction = try peerSettings(open[index].name).direction
        guard direction != (half == .send ? .retrieveOnly : .sendOnly) else { return nil }
        return try run(half, with: open[index], session)
      }
      ended.withLock { $0[index] = result }
    }
    var interruption: ControlError?
    for (index, peer) in open.enumerated() {
      do throws(ControlError) {
        guard let report = try ended.withLock({ $0[index] })?.get() else { continue }
        var notes: [String] = []
        let lacks = half == .retrieve ? report.lacks : nil
        if half == .retrieve, let incomplete = report.incomplete {
          notes.append("INCOMPLETE: \(incomplete)")
        } else if let fault = report.refused.first {
          notes.append(Self.refusal(fault, of: report.refused.count, half, peer.name))
        }
        notes += report.notes
        outcome.note(peer.name) { peer in
          switch half {
          case .retrieve: (peer.retrieved, peer.retrieving) = (report.taken.count, notes)
          case .send:
            peer.sent = (peer.sent ?? 0) + report.sent.count
            peer.sending += notes.filter { !peer.sending.contains($0) }
            if report.leavesNoHole { peer.noteWhole() }
          }
          peer.refused += report.refused.count
          peer.waiting += report.waiting.count
          if half == .retrieve {
            (peer.unreadable, peer.incomplete) = (report.unreadable.count, lacks)
          }
        }
        if half == .send, !report.refused.isEmpty {
          fail(
            peer, ControlError(.damaged, "\(report.sent.count) sent, \(notes[0])"), session,
            &outcome)
        }
      } catch {
        fail(peer, error, session, &outcome)
        if error.kind == .interrupted { interruption = error }
      }
    }
    if let interruption { throw interruption }
  }

  /// The name of a bundle is in the log, and in what `verify` says.
  private static func refusal(
    _ fault: ExchangeReport.Fault, of count: Int, _ half: ExchangeHalf, _ peer: String
  ) -> String {
    guard half == .retrieve, fault.isObject else {
      return "\(count) \(half == .send ? "not sent" : "refused") (\(fault.reason))"
    }
    let what = "\(count) bundle\(count == 1 ? "" : "s")"
    return
      "\(what) there \(fault.cause); \"llvs verify \(peer)\" \(ExchangeOutcome.PeerOutcome.moreFromVerify)"
  }

  func fail(
    _ peer: Peer, _ error: ControlError, _ session: PeerSession,
    _ outcome: inout ExchangeOutcome
  ) {
    guard error.kind != .interrupted else {
      let (half, count, text) = session.reached(peer)
      return outcome.note(peer.name) { peer in
        (peer.state, peer.message) = (.interrupted, text)
        switch half {
        case .retrieve: peer.retrieved = count
        case .send: peer.sent = count
        case nil: break
        }
      }
    }
    // A laptop may be away and a stick not plugged in; disappearing during an exchange is a failure.
    let isAway =
      (error.kind == .unreachable || error.kind == .timedOut) && !session.hasAnswered(peer.name)
    let state: ExchangeOutcome.PeerOutcome.State =
      isAway && !session.isNamed(peer.name) ? .away : .failed
    outcome.note(peer.name) { ($0.state, $0.message) = (state, error.message) }
    guard state == .failed else { return }
    outcome.fail(ControlError(error.kind, "\(peer.name): \(error.message)"))
  }

  @discardableResult
  func run(
    _ half: ExchangeHalf, with peer: Peer, _ session: PeerSession
  ) throws(ControlError) -> ExchangeReport {
    do throws(ControlError) {
      let newest = try translating { try store.state().lastNumber }
      session.begin(half, with: peer)
      defer { session.end(peer) }
      let report = try asking(peer, session) { remote, control in
        switch half {
        case .retrieve: try remote.retrieve(into: store, control)
        case .send: try remote.send(from: store, control)
        }
      }
      session.noteAnswer(of: peer)
      record(half, report, with: peer, newest: newest)
      return report
    } catch {
      guard error.kind != .interrupted else { throw error }
      let told = half == .send ? try unsent(error, peer, session) : error
      record(told, with: peer)
      throw told
    }
  }

  /// Adds to a refusal by the remote how much could not be sent.
  private func unsent(
    _ error: ControlError, _ peer: Peer, _ session: PeerSession
  ) throws(ControlError) -> ControlError {
    guard [.noSpace, .notPermitted, .readOnly].contains(error.kind) else { return error }
    let newest = try translating { try store.state().lastNumber }
    let done = session.reached(peer).count
    let left = PeerState(peer.state).countToSend(newest: newest) - done
    guard left > 0 else { return error }
    let versions = "\(left) version\(left == 1 ? "" : "s")\(Self.unsent)"
    return ControlError(error.kind, "\(error.message); \(versions)")
  }

  /// Runs a body with a peer, opened if necessary, while nothing else uses that peer's place.
  func asking<R>(
    _ peer: Peer, _ session: PeerSession,
    _ body: (any RemoteLayout, ExchangeControl) throws -> R
  ) throws(ControlError) -> R {
    let address = try PeerAddress(peer.address)
    let key = address.reservation
    try reserve(key, session.context)
    defer {
      busyPeers.withLock { _ = $0.remove(key) }
      busyPeers.broadcast()
    }
    let settings = try peerSettings(peer.name)
    let name = peer.name
    do throws(ControlError) {
      let opened = try session.opened(peer, limit: settings.limit) {
        (transfer) throws(ControlError) in
        var opening = PeerOpening(name: name, store: store, transfer: transfer)
        opening.isNew = PeerState(peer.state).countThere == 0
        opening.documents = documentMemory
        return try opener.open(address, opening)
      }
      return try translating { try body(opened.layout, opened.control) }
    } catch {
      let error = error.naming(name)
      // Status says that it was away for a look, too.
      if error.kind == .unreachable { record(error, with: peer) }
      throw error
    }
  }

  private func reserve(_ key: String, _ context: CommandContext) throws(ControlError) {
    while true {
      try context.check()
      let isMine = busyPeers.wait(nanoseconds: 100_000_000) { busy -> Bool? in
        busy.insert(key).inserted ? true : nil
      }
      if isMine == true { return }
    }
  }

  private static let faultsLogged = 50

  private func record(
    _ half: ExchangeHalf, _ report: ExchangeReport, with peer: Peer, newest: UInt32
  ) {
    let text = half == .retrieve ? "\(report.taken.count) retrieved" : "\(report.sent.count) sent"
    if !report.taken.isEmpty || !report.sent.isEmpty {
      log.add("exchange", "\(peer.name): \(text)")
    }
    let refusal = half == .send ? "not sent" : "refused"
    // Faults are logged before the faults that they cause.
    for fault in report.refused.prefix(Self.faultsLogged) {
      log.add("error", "\(peer.name): \(refusal) \(fault.id.rawValue): \(fault.reason)")
    }
    let more = report.refused.count - Self.faultsLogged
    if more > 0 { log.add("error", "\(peer.name): \(refusal), and \(more) more") }
    let unsent = half == .send ? report.refused : []
    // A version that this store no longer has counts as the next to send.
    let numbers = unsent.compactMap { (try? store.version($0.id))?.number.rawValue }
    let isRetrieveOnly = (try? peerSettings(peer.name))?.direction == .retrieveOnly
    update(peer) { state in
      switch half {
      case .retrieve: state.retrieved(report)
      case .send: state.sent(report, newest: newest, without: numbers)
      }
      // A peer that gets nothing is not synced because its list could be read.
      let isDone = half == .send || isRetrieveOnly || state.countToSend(newest: newest) == 0
      guard isDone else { return }
      if let fault = unsent.first {
        state.failed = TimestampText.now()
        state.message = "\(unsent.count) not sent (\(fault.reason))"
      } else {
        state.succeeded = TimestampText.now()
        state.failed = nil
      }
    }
    silentPeers.withLock { $0.noteAnswer(of: peer.name) }
  }

  func record(_ error: ControlError, with peer: Peer) {
    if error.kind == .timedOut { silentPeers.withLock { $0.noteSilence(of: peer.name) } }
    update(peer) { state in
      state.failed = TimestampText.now()
      state.message = error.message
    }
  }

  func update(_ peer: Peer, _ change: (inout PeerState) -> Void) {
    // A failure to store this state must not fail a command that succeeded.
    do throws(StoreError) {
      try store.write { (transaction) throws(StoreError) in
        guard var current = try store.peers().first(where: { $0.name == peer.name }),
          current.address == peer.address
        else { return }
        var state = PeerState(current.state)
        change(&state)
        current.state = state.encoded
        transaction.setPeer(current)
      }
    } catch {
      log.add("error", "the state of \(peer.name) could not be kept: \(error)")
    }
  }

  /// Sets the address of a peer, and adds a new peer.
  /// - Throws: ``ControlError/Kind/grammar`` for an invalid name or address, which is logged too, because few
  ///   programs check close(2).
  package func setPeer(_ name: String, address: [UInt8]) throws(ControlError) {
    if let fault = StoreName.fault(name) { throw ControlError(.grammar, fault) }
    do throws(ControlError) {
      _ = try PeerAddress(address)
    } catch {
      let isKnown = state.withLock { state in
        defer { state.refusedPeer = (name, address) }
        return state.refusedPeer.map { $0 == (name, address) } ?? false
      }
      if !isKnown { log.add("error", "peers/\(name): \(error.message)") }
      recordFailure(of: "peers/\(name)", error)
      throw error
    }
    state.withLock { $0.refusedPeer = nil }
    let before = try translating {
      try store.write { (transaction) throws(StoreError) in
        let known = try store.peers().first { $0.name == name }
        // The state belongs to the address, so another address starts without any.
        transaction.setPeer(
          known?.address == address
            ? Peer(name: name, address: address, state: known?.state)
            : Peer(name: name, address: address))
        return known?.address
      }
    }
    if let place = try? PeerAddress(address) { opener.noteNew(place, store) }
    guard before != address else { return }
    noteChangedSettings()
    log.add("peer", "\(name): \(before == nil ? "added" : "changed"), \(Self.shown(address))")
  }

  package func removePeer(_ name: String) throws(ControlError) {
    let known = try translating {
      try store.write { (transaction) throws(StoreError) in
        transaction.removePeer(name)
        transaction.set(PeerSettings.adoptedKey(name), to: nil)
        for setting in PeerSettings.Name.allCases {
          transaction.set(PeerSettings.key(name, setting), to: nil)
        }
        return try store.peers().first { $0.name == name }
      }
    }
    noteChangedSettings()
    if let known { log.add("peer", "\(name): forgotten, it was \(Self.shown(known.address))") }
  }

  /// An address for the log, without the part before an `@`, which may be a password.
  private static func shown(_ address: [UInt8]) -> String {
    let text = String(decoding: address.prefix { $0 != 0x0A }.prefix(400), as: UTF8.self)
    guard let start = text.firstRange(of: "://"),
      let end = text[start.upperBound...].prefix(while: { $0 != "/" }).lastIndex(of: "@")
    else { return text }
    return text[..<start.upperBound] + "..." + text[end...]
  }

  package func allPeers() throws(ControlError) -> [Peer] { try translating { try store.peers() } }
}

extension ExchangeReport {
  /// How many versions could not be read and why; nil if all were.
  var lacks: String? {
    let count = unreadable.count
    guard count > 0 || (refused + waiting).contains(where: \.hidesVersions) else { return nil }
    var causes = bundles
    if causes.isEmpty, let fault = (refused + waiting).first { causes.append(fault.reason) }
    let what = count == 0 ? "the newest versions" : "\(count) version\(count == 1 ? "" : "s")"
    return "\(what) cannot be read"
      + (causes.isEmpty ? "" : " (\(causes.joined(separator: ", ")))")
  }

  /// ``lacks``, or the bundles that are missing though all versions were read; nil if there are none.
  var incomplete: String? { lacks ?? (waiting.isEmpty ? nil : bundles.joined(separator: ", ")) }

  /// How many bundles cannot be read, by the cause.
  private var bundles: [String] {
    Dictionary(grouping: (refused + waiting).filter(\.isObject), by: \.cause)
      .sorted { $0.key < $1.key }
      .map { cause, all in "\(all.count) bundle\(all.count == 1 ? "" : "s") \(cause)" }
  }
}
