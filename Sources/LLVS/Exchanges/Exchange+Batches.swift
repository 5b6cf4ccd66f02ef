internal import LLVSExchange

extension Exchange {
  /// Stores the versions that the other side has and the store lacks, in batches.
  /// ``retrieval()`` names those that are left out: without changes, without predecessors, or against a rule.
  /// - Throws: the error of a primitive, of the store; earlier batches stay.
  public func retrieve() async throws -> [Version.ID] { try await retrieveInBatches() }

  func retrieveInBatches() async throws -> [Version.ID] {
    try await prepareToRetrieve()
    let remote = try await retrieveAllVersionIdentifiers()
    let store = store
    let unknown = try await Threads.run { _ in
      var seen: Set<Version.ID> = []
      return try remote.filter { try seen.insert($0).inserted && !store.backend.contains($0) }
    }
    guard !unknown.isEmpty else { return remote }
    let wanted = Set(unknown)
    let versions = try await retrieveVersions(identifiedBy: unknown)
      .filter { wanted.contains($0.id) }.inOrderOfDescent()
    var outcome = Retrieval()
    for id in wanted.subtracting(versions.ids) {
      outcome.refused[id] = .notFound("the other side lists the version, and does not have it")
    }
    for batch in VersionBatches(versions, size: \.valueDataSize) {
      try Task.checkCancellation()
      let changes = try await retrieveValueChanges(forVersionsIdentifiedBy: batch.ids)
      for version in batch where changes[version.id] == nil {
        outcome.refused[version.id] = .notFound("the other side has no changes of the version")
      }
      let arrived = batch.compactMap { version in changes[version.id].map { (version, $0) } }
      let faults = try await Threads.run { _ in try store.backend.add(arrived) }
      store.noteNewVersions()
      outcome.refused.merge(faults) { $1 }
      outcome.taken += arrived.map(\.0.id).filter { faults[$0] == nil }
    }
    return outcome.noted(among: remote)
  }

  /// Writes the versions that the other side lacks, predecessors first, in batches.
  /// - Throws: the error of a primitive, of the store; earlier batches stay.
  public func send() async throws -> [Version.ID] { try await sendInBatches() }

  func sendInBatches() async throws -> [Version.ID] {
    try await prepareToSend()
    let known = Set(try await retrieveAllVersionIdentifiers())
    let store = store
    let missing = try await Threads.run { _ in
      try store.backend.sizesToSend(missingAmong: known)
    }
    for batch in VersionBatches(missing, size: \.size) {
      try Task.checkCancellation()
      let part = try await Threads.run { _ in
        try batch.compactMap { try store.backend.versionToSend($0.id) }
      }
      try await send(versionChanges: part)
    }
    return missing.map(\.id)
  }
}

extension [Version] {
  /// Returns the versions with each after its predecessors, without those that are their own ancestors.
  func inOrderOfDescent() -> [Version] {
    let known = Dictionary(map { ($0.id, $0) }) { first, _ in first }
    var waiting: [Version.ID: Int] = [:]
    var successors: [Version.ID: [Version.ID]] = [:]
    for version in known.values {
      let predecessors = Set(version.predecessors?.ids ?? []).filter { known[$0] != nil }
      waiting[version.id] = predecessors.count
      for id in predecessors { successors[id, default: []].append(version.id) }
    }
    func isBefore(_ a: Version, _ b: Version) -> Bool { (a.timestamp, a.id) < (b.timestamp, b.id) }
    var ready = known.values.filter { waiting[$0.id] == 0 }.sorted(by: isBefore)
    var order: [Version] = []
    order.reserveCapacity(known.count)
    // A layer is sorted at once, because all its predecessors are in the layers before.
    while !ready.isEmpty {
      order += ready
      var next: [Version] = []
      for version in ready {
        for id in successors[version.id] ?? [] {
          let count = (waiting[id] ?? 1) - 1
          waiting[id] = count
          if count == 0, let successor = known[id] { next.append(successor) }
        }
      }
      ready = next.sorted(by: isBefore)
    }
    return order
  }
}

/// Parts of a list of versions that fit into memory and into one message.
struct VersionBatches<Element>: Sequence, IteratorProtocol {
  private static var limit: Int64 { 5_000_000 }
  private static var usual: Int64 { 100_000 }

  private var rest: ArraySlice<Element>
  private let size: (Element) -> Int64?

  init(_ all: [Element], size: @escaping (Element) -> Int64?) {
    rest = all[...]
    self.size = size
  }

  mutating func next() -> [Element]? {
    var bytes: Int64 = 0
    let count = rest.prefix { element in
      let isFirst = bytes == 0
      bytes += Swift.max(1, Swift.min(size(element) ?? Self.usual, Self.limit))
      return isFirst || bytes <= Self.limit
    }.count
    guard count > 0 else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }
}
