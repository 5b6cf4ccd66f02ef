package import LLVSCore

extension Store {
  /// Stores every acceptable version of a place; refuses faulty ones with their descendants. A cancellation
  /// keeps the versions that were committed.
  package func retrieve(
    from source: some VersionSource, control: ExchangeControl = ExchangeControl()
  ) throws(StoreError) -> ExchangeReport {
    var retrieval = Retrieval(store: self, source: source, control: control)
    return try retrieval.run()
  }

  func unknown(_ ids: [Version.ID], _ control: ExchangeControl) throws(StoreError) -> [Version.ID] {
    try catalog.readView { (view) throws(StoreError) in
      var unknown: [Version.ID] = []
      for id in ids {
        try control.check()
        if try view.number(of: id) == nil { unknown.append(id) }
      }
      return unknown
    }
  }
}

/// One retrieval: missing versions are read, checked and stored, predecessors first, and read ahead.
struct Retrieval<Source: VersionSource> {
  let store: Store
  let source: Source
  let control: ExchangeControl
  var report = ExchangeReport()
  /// Versions that are not stored; true if refused, false if not there yet.
  var barred: [Version.ID: Bool] = [:]

  mutating func run() throws(StoreError) -> ExchangeReport {
    control.report(.listing, 0, of: 0)
    report.remoteIDs = try source.versionIDs()
    let found = try read(try store.unknown(report.remoteIDs, control))
    let order = try arranged(found)
    for fault in report.waiting { barred[fault.id] = false }
    for fault in report.refused { barred[fault.id] = true }
    try storeAll(order)
    for fault in report.refused + report.waiting {
      for id in found[fault.id]?.predecessors ?? [] where try store.version(id) != nil {
        report.awaited.insert(id)
      }
    }
    return report
  }

  private mutating func read(
    _ ids: [Version.ID]
  ) throws(StoreError) -> [Version.ID: IncomingVersion] {
    var found: [Version.ID: IncomingVersion] = [:]
    found.reserveCapacity(ids.count)
    var start = 0
    while start < ids.count {
      let end = min(start + 1024, ids.count)
      control.report(.reading, start, of: ids.count, bytes: source.length)
      let part = Array(ids[start..<end])
      let (source, control) = (source, control)
      let read = try Threads.map(part.count, width: source.requests) {
        (index) throws(StoreError) in
        try control.check()
        return try Retrieval.read(part[index], from: source)
      }
      for (id, outcome) in zip(part, read) {
        switch outcome {
        case .success(let incoming): found[id] = incoming
        case .failure(let fault): report.refused.append(fault)
        }
      }
      start = end
    }
    return found
  }

  private static func read(
    _ id: Version.ID, from source: Source
  ) throws(StoreError) -> Result<IncomingVersion?, ExchangeReport.Fault> {
    do throws(StoreError) {
      guard let version = try source.version(id) else { return .success(nil) }
      return .success(IncomingVersion(version))
    } catch .invalid(let reason) {
      return .failure(ExchangeReport.Fault(id: id, reason: reason))
    }
  }

  /// Orders versions after their predecessors, oldest first; followers of absent ones wait, of refused are refused.
  private mutating func arranged(
    _ found: [Version.ID: IncomingVersion]
  ) throws(StoreError) -> [IncomingVersion] {
    var missing: [Version.ID: Int] = [:]
    var successors: [Version.ID: [Version.ID]] = [:]
    let refused = Set(report.refused.map(\.id))
    var absent: [(Version.ID, Version.ID, Bool)] = []
    // The oldest is the greatest, and comes first.
    var ready = PriorityQueue<IncomingVersion> { a, b in
      a.timestamp == b.timestamp ? b.id < a.id : b.timestamp < a.timestamp
    }
    for incoming in found.values {
      var count = 0
      for id in incoming.predecessors {
        if found[id] != nil {
          successors[id, default: []].append(incoming.id)
          count += 1
        } else if try store.version(id) == nil {
          absent.append((incoming.id, id, refused.contains(id)))
          if !refused.contains(id) { report.absent.insert(id) }
          count += 1
        }
      }
      missing[incoming.id] = count
      if count == 0 { ready.push(incoming) }
    }
    var order: [IncomingVersion] = []
    order.reserveCapacity(found.count)
    while let incoming = ready.pop() {
      order.append(incoming)
      missing[incoming.id] = nil
      for id in successors[incoming.id] ?? [] {
        guard let count = missing[id] else { continue }
        missing[id] = count - 1
        if count == 1, let next = found[id] { ready.push(next) }
      }
    }
    // The versions that are left descend from a barred one, or from themselves.
    var visited: Set<Version.ID> = []
    absent.sort { ($0.2 ? 0 : 1, $0.0) < ($1.2 ? 0 : 1, $1.0) }
    for (first, cause, isRefused) in absent {
      var open = [(first, cause)]
      while let (id, cause) = open.popLast() {
        guard visited.insert(id).inserted else { continue }
        record(id, after: cause, isRefused: isRefused)
        for successor in successors[id] ?? [] { open.append((successor, id)) }
      }
    }
    for id in missing.keys.sorted() where !visited.contains(id) {
      report.refused.append(
        ExchangeReport.Fault(
          id: id, reason: "\(source.label(id)): it is among its own ancestors"))
    }
    return order
  }

  mutating func record(_ id: Version.ID, after cause: Version.ID, isRefused: Bool) {
    let state = isRefused ? "was refused" : "is not there yet"
    let fault = ExchangeReport.Fault(
      id: id, reason: "\(source.label(id)): its predecessor \(cause.rawValue) \(state)")
    if isRefused { report.refused.append(fault) } else { report.waiting.append(fault) }
  }
}

struct IncomingVersion {
  /// More bytes of metadata are not kept, but read again when the version is stored.
  private static let keptMetadata = 16_384
  let id: Version.ID
  let predecessors: [Version.ID]
  let timestamp: Double
  /// The bytes that it claims to store.
  let size: Int64?
  let version: Version?

  init(_ version: Version) {
    id = version.id
    predecessors = version.predecessors?.ids ?? []
    timestamp = version.timestamp
    self.size = version.valueDataSize
    let size = version.metadata.reduce(0) { $0 + $1.key.rawValue.utf8.count + $1.value.data.count }
    self.version = size <= IncomingVersion.keptMetadata ? version : nil
  }
}
