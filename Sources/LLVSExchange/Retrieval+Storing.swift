import LLVSCore
internal import Platform

extension Retrieval {
  /// The most bytes of values in one commit, since other writers wait for it. The first commits are smaller, and so
  /// are those of a slow source: an interruption loses what is not committed.
  private static var batchBytes: ClosedRange<Int64> { (1 << 20)...(8 << 20) }
  /// The bytes that a version counts at least.
  private static var versionBytes: Int64 { 8 << 10 }
  /// The longest time between two commits before they become smaller, in nanoseconds.
  private static var patience: UInt64 { 1_000_000_000 }

  private enum Opened {
    case whole(Version, OpenedChanges<Source.Changes>, Digest?)
    case absent
    case refused(String)
  }

  private enum Outcome {
    case taken(VersionNumber)
    case known
    case refused(String)
    case barred(by: Version.ID, isRefused: Bool)
    case absent
  }

  mutating func storeAll(_ order: [IncomingVersion]) throws(StoreError) {
    let sizes = Self.batchBytes
    var size = sizes.lowerBound
    var batch = Retrieval.batch(of: order, from: 0, size)
    var opened = try open(order[batch])
    while !batch.isEmpty {
      let began = SystemClock.monotonic()
      let next = Retrieval.batch(of: order, from: batch.upperBound, size)
      let (current, ready, retrieval) = (order[batch], opened, self)
      // The next batch is opened before its commit begins: other writers do not wait for the remote.
      let (outcomes, following) = try Threads.computing.both {
        () throws(StoreError) in
        try retrieval.install(current, ready)
      } beside: { () throws(StoreError) in
        try retrieval.open(order[next])
      }
      for (incoming, outcome) in zip(current, outcomes) { record(incoming.id, outcome) }
      (batch, opened) = (next, following)
      let isSlow = SystemClock.monotonic() - began > Self.patience
      size = isSlow ? max(size / 2, sizes.lowerBound) : min(size * 2, sizes.upperBound)
      control.report(.storing, batch.lowerBound, of: order.count, bytes: source.length)
    }
  }

  private static func batch(
    of order: [IncomingVersion], from start: Int, _ size: Int64
  ) -> Range<Int> {
    var end = start
    var bytes: Int64 = 0
    while end < order.count, bytes < size {
      // The original sometimes omits the size, and a peer may claim any size.
      let claimed = max(order[end].size ?? 65_536, versionBytes)
      bytes = bytes.addingReportingOverflow(claimed).partialValue
      guard bytes >= 0 else { return start..<(end + 1) }
      end += 1
    }
    return start..<end
  }

  private func open(_ batch: ArraySlice<IncomingVersion>) throws(StoreError) -> [Opened] {
    guard source.requests > 1 else {
      var opened: [Opened] = []
      opened.reserveCapacity(batch.count)
      for incoming in batch { opened.append(try open(incoming)) }
      return opened
    }
    let (batch, retrieval) = (Array(batch), self)
    return try Threads.map(batch.count, width: source.requests) { (index) throws(StoreError) in
      try retrieval.open(batch[index])
    }
  }

  private func open(_ incoming: IncomingVersion) throws(StoreError) -> Opened {
    try control.check()
    do throws(StoreError) {
      var version = incoming.version
      if version == nil { version = try source.version(incoming.id) }
      guard let version, let changes = try changes(of: incoming) else { return .absent }
      return .whole(version, changes, try source.contentDigest(of: incoming.id))
    } catch .invalid(let reason) {
      return .refused(reason)
    }
  }

  /// Returns the changes of a version, read if they are short; nil if they are not there.
  private func changes(
    of incoming: IncomingVersion
  ) throws(StoreError) -> OpenedChanges<Source.Changes>? {
    guard let changes = try source.changes(of: incoming.id) else { return nil }
    guard incoming.size ?? 0 <= OpenedChanges<Source.Changes>.limit else { return .unread(changes) }
    let read = try OpenedChanges(reading: changes, preparedBy: store.contents)
    if let read { return read }
    return try source.changes(of: incoming.id).map { .unread($0) }
  }

  private func install(
    _ batch: ArraySlice<IncomingVersion>, _ opened: [Opened]
  ) throws(StoreError) -> [Outcome] {
    var barred = barred
    return try store.write { (transaction) throws(StoreError) in
      let installer = try VersionInstaller(transaction)
      var outcomes: [Outcome] = []
      outcomes.reserveCapacity(batch.count)
      for (incoming, opened) in zip(batch, opened) {
        try control.check()
        let outcome: Outcome
        if let cause = incoming.predecessors.first(where: { barred[$0] != nil }) {
          outcome = .barred(by: cause, isRefused: barred[cause] ?? false)
        } else {
          outcome = try install(opened, incoming.id, with: installer, in: transaction)
        }
        switch outcome {
        case .taken, .known: break
        case .refused, .barred(by: _, isRefused: true): barred[incoming.id] = true
        case .absent, .barred(by: _, isRefused: false): barred[incoming.id] = false
        }
        outcomes.append(outcome)
      }
      return outcomes
    }
  }

  private func install(
    _ opened: Opened, _ id: Version.ID, with installer: VersionInstaller,
    in transaction: WriteTransaction
  ) throws(StoreError) -> Outcome {
    switch opened {
    case .absent: return .absent
    case .refused(let reason): return .refused(reason)
    case .whole(let version, let changes, let digest):
      // The version was made here, or retrieved from another peer, since the listing.
      guard try transaction.version(id) == nil else { return .known }
      do throws(StoreError) {
        return .taken(
          try installer.install(
            version, changes: changes, digest: digest, label: source.label(id)))
      } catch .invalid(let reason) {
        return .refused(reason)
      }
    }
  }

  private mutating func record(_ id: Version.ID, _ outcome: Outcome) {
    switch outcome {
    case .taken(let number):
      report.taken.append(id)
      report.takenNumbers.append(number)
    case .known: break
    case .refused(let reason):
      barred[id] = true
      report.refused.append(ExchangeReport.Fault(id: id, reason: reason))
    case .barred(let cause, let isRefused):
      barred[id] = isRefused
      record(id, after: cause, isRefused: isRefused)
    case .absent:
      barred[id] = false
      report.absent.insert(id)
      let fault = ExchangeReport.Fault(
        id: id, reason: "\(source.changesLabel(id)): it is not there yet")
      report.waiting.append(fault)
    }
  }
}
