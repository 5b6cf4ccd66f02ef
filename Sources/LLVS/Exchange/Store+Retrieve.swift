/// Retrieving: versions that are there and not here are read, checked and stored, predecessors first.
extension Store {
  /// How many versions one commit takes in, and so how long others wait to write.
  private static let batchCount = 256
  /// Versions that are not taken: true for those refused, false for those not there yet.
  private typealias Barred = [Version.ID: Bool]

  /// Metadata over this is read again when its version is stored, and not kept until then.
  private static let keptMetadata = 16_384

  /// Takes in every version of a remote that can be taken.
  ///
  /// A version that breaks a rule is refused with its descendants and named; the others are taken.
  /// Stopping keeps what was committed, which is whole versions.
  ///
  /// - Throws: ``StoreError/unreachable(_:)``, ``StoreError/cancelled``, or an error of this store.
  package func retrieve(
    from remote: some WireRemote, control: ExchangeControl = ExchangeControl()
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    control.report(.listing, 0, of: 0)
    report.remoteIDs = try remote.versionIDs()
    var found: [Version.ID: IncomingVersion] = [:]
    for (index, id) in report.remoteIDs.enumerated() {
      try control.check()
      guard try version(id) == nil else { continue }
      control.report(.reading, index, of: report.remoteIDs.count)
      do throws(StoreError) {
        guard let version = try Store.version(id, from: remote) else { continue }
        found[id] = IncomingVersion(version, keeping: Store.keptMetadata)
      } catch {
        guard case .invalid(let reason) = error else { throw error }
        report.refused.append(ExchangeReport.Fault(id: id, reason: reason))
      }
    }
    let order = try arranged(found, &report)
    var barred: Barred = [:]
    for fault in report.waiting { barred[fault.id] = false }
    for fault in report.refused { barred[fault.id] = true }
    var next = 0
    while next < order.count {
      let end = min(next + Store.batchCount, order.count)
      try take(order[next..<end], from: remote, control, &barred, &report)
      next = end
      control.report(.storing, next, of: order.count)
    }
    return report
  }

  private static func version(
    _ id: Version.ID, from remote: some WireRemote
  ) throws(StoreError) -> Version? {
    guard let input = try remote.open(.version, id) else { return nil }
    let version = try Version(reading: input)
    guard version.id == id else {
      throw .invalid("\(input.name): it holds the version \(version.id.rawValue)")
    }
    return version
  }

  /// The versions in an order in which each follows its predecessors, oldest first where it is free;
  /// those with a predecessor that is nowhere are waiting, those after a refused one refused.
  private func arranged(
    _ found: [Version.ID: IncomingVersion], _ report: inout ExchangeReport
  ) throws(StoreError) -> [IncomingVersion] {
    var missing: [Version.ID: Int] = [:]
    var successors: [Version.ID: [Version.ID]] = [:]
    let refused = Set(report.refused.map(\.id))
    var barred: [(Version.ID, Version.ID, Bool)] = []
    var ready = PriorityQueue<IncomingVersion> { a, b in
      a.timestamp == b.timestamp ? a.id < b.id : a.timestamp < b.timestamp
    }
    for incoming in found.values {
      var count = 0
      for id in incoming.predecessors {
        if found[id] != nil {
          successors[id, default: []].append(incoming.id)
          count += 1
        } else if try version(id) == nil {
          barred.append((incoming.id, id, refused.contains(id)))
          count += 1
        }
      }
      missing[incoming.id] = count
      if count == 0 { ready.push(incoming) }
    }
    var order: [IncomingVersion] = []
    while let incoming = ready.pop() {
      order.append(incoming)
      missing[incoming.id] = nil
      for id in successors[incoming.id] ?? [] {
        guard let count = missing[id] else { continue }
        missing[id] = count - 1
        if count == 1, let next = found[id] { ready.push(next) }
      }
    }
    // Whatever is left follows something that is barred, or itself.
    var seen: Set<Version.ID> = []
    barred.sort { ($0.2 ? 0 : 1, $0.0) < ($1.2 ? 0 : 1, $1.0) }
    for (first, cause, isRefused) in barred {
      var open = [(first, cause)]
      while let (id, cause) = open.popLast() {
        guard seen.insert(id).inserted else { continue }
        let state = isRefused ? "was refused" : "is not there yet"
        let fault = ExchangeReport.Fault(
          id: id, reason: "versions/\(id.rawValue): its predecessor \(cause.rawValue) \(state)")
        if isRefused { report.refused.append(fault) } else { report.waiting.append(fault) }
        for successor in successors[id] ?? [] { open.append((successor, id)) }
      }
    }
    for id in missing.keys.sorted() where !seen.contains(id) {
      report.refused.append(
        ExchangeReport.Fault(
          id: id, reason: "versions/\(id.rawValue): it is among its own ancestors"))
    }
    return order
  }

  /// Stores some versions in one commit.
  private func take(
    _ batch: ArraySlice<IncomingVersion>, from remote: some WireRemote, _ control: ExchangeControl,
    _ barred: inout Barred, _ report: inout ExchangeReport
  ) throws(StoreError) {
    // Opened before the commit begins, so that others do not wait for the remote more than they must.
    var opened: [(Version, WireInput)] = []
    var (refused, waiting) = (report.refused, report.waiting)
    var excluded = barred
    for incoming in batch {
      try control.check()
      if let cause = incoming.predecessors.first(where: { excluded[$0] != nil }) {
        Store.bar(incoming.id, after: cause, &excluded, &refused, &waiting)
        continue
      }
      do throws(StoreError) {
        var version = incoming.version
        if version == nil { version = try Store.version(incoming.id, from: remote) }
        guard let version, let input = try remote.open(.changes, incoming.id) else {
          excluded[incoming.id] = false
          let reason = "changes/\(incoming.id.rawValue): it is not there yet"
          waiting.append(ExchangeReport.Fault(id: incoming.id, reason: reason))
          continue
        }
        opened.append((version, input))
      } catch {
        guard case .invalid(let reason) = error else { throw error }
        excluded[incoming.id] = true
        refused.append(ExchangeReport.Fault(id: incoming.id, reason: reason))
      }
    }
    let taken = try write { (transaction) throws(StoreError) -> [Version.ID] in
      let installer = VersionInstaller(transaction)
      var taken: [Version.ID] = []
      for (version, input) in opened {
        try control.check()
        if let cause = version.predecessors?.ids.first(where: { excluded[$0] != nil }) {
          Store.bar(version.id, after: cause, &excluded, &refused, &waiting)
          continue
        }
        // Made here, or taken from another peer, since the listing.
        guard try transaction.version(version.id) == nil else { continue }
        do throws(StoreError) {
          try installer.install(version, changes: input)
          taken.append(version.id)
        } catch {
          guard case .invalid(let reason) = error else { throw error }
          excluded[version.id] = true
          let file = reason.hasPrefix("changes/") ? "" : "versions/\(version.id.rawValue): "
          refused.append(ExchangeReport.Fault(id: version.id, reason: file + reason))
        }
      }
      return taken
    }
    report.taken += taken
    report.refused = refused
    report.waiting = waiting
    barred = excluded
  }

  private static func bar(
    _ id: Version.ID, after cause: Version.ID, _ barred: inout Barred,
    _ refused: inout [ExchangeReport.Fault], _ waiting: inout [ExchangeReport.Fault]
  ) {
    let isRefused = barred[cause] ?? false
    barred[id] = isRefused
    let state = isRefused ? "was refused" : "is not there yet"
    let fault = ExchangeReport.Fault(
      id: id, reason: "versions/\(id.rawValue): its predecessor \(cause.rawValue) \(state)")
    if isRefused { refused.append(fault) } else { waiting.append(fault) }
  }
}

/// What has to be known of a version to put it in order.
struct IncomingVersion {
  let id: Version.ID
  let predecessors: [Version.ID]
  let timestamp: Double
  /// Nil where its metadata is too long to be kept.
  let version: Version?

  init(_ version: Version, keeping bound: Int) {
    id = version.id
    predecessors = version.predecessors?.ids ?? []
    timestamp = version.timestamp
    let size = version.metadata.reduce(0) { $0 + $1.key.rawValue.utf8.count + $1.value.data.count }
    self.version = size <= bound ? version : nil
  }
}
