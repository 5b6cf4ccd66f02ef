internal import Foundation
internal import LLVSCore
internal import LLVSExchange
internal import Platform

/// The engine's own format; converts types between library and engine.
final class EngineBackend: StoreBackend {
  private let shared: SharedStore

  init(path: String) throws {
    shared = try translated { try SharedStore.open(path: path, create: true) }
  }

  func read<Result>(_ body: (LLVSCore.Store) throws -> Result) throws -> Result {
    try translated { try shared.read { store in Swift.Result { try body(store) } }.get() }
  }

  func write<Result>(_ body: (LLVSCore.Store) throws -> Result) throws -> Result {
    try translated { try shared.write { store in Swift.Result { try body(store) } }.get() }
  }

  func reload() {}

  func heads(at current: Version.ID?) throws -> [HistoryHead] {
    try read { store in
      let heads = try store.graph.heads()
      // A contained head is not listed (docs/merging.md, M5), unless a program has yet to leave it.
      let listed = Set(
        try Dictionary(grouping: heads, by: \.line).values
          .flatMap { try store.graph.uncontained($0) }.map(\.number))
      return heads.filter { listed.contains($0.number) || $0.id == current?.core }.map { node in
        HistoryHead(
          id: Version.ID(node.id), timestamp: node.timestamp,
          branch: node.line.map { Branch(rawValue: $0.rawValue) })
      }
    }
  }

  func forEachVersionID(_ body: (Version.ID) -> Void) throws {
    try read { store in try store.forEachVersion { body(Version.ID($0.id)) } }
  }

  func version(_ id: Version.ID) throws -> Version? {
    try read { store in
      guard let record = try store.version(id.core) else { return nil }
      var successors: Set<Version.ID> = []
      for number in try store.successors(of: record.number) {
        successors.insert(Version.ID(try store.id(of: number)))
      }
      return Version(try store.version(from: record), successors: successors)
    }
  }

  func contains(_ id: Version.ID) throws -> Bool {
    try read { store in try store.version(id.core) != nil }
  }

  func commonAncestor(of first: Version.ID, and second: Version.ID) throws -> Version.ID? {
    try read { store in
      guard let one = try store.version(first.core), let other = try store.version(second.core)
      else { throw Store.Error.missingVersion }
      return try store.graph.commonAncestors(one.number, other.number).last.map {
        Version.ID($0.id)
      }
    }
  }

  func versionIDs(storing id: Value.ID) throws -> [Version.ID] {
    try read { store in try store.versionIds(for: id.core).reversed().map { Version.ID($0) } }
  }

  func makeVersion(
    basedOn predecessors: Version.Predecessors?, storing changes: [Value.Change],
    metadata: Version.Metadata
  ) throws -> Version {
    let (core, described) = (changes.map(\.core), metadata.core)
    do {
      return try write { store in
        Version(
          try store.makeVersion(
            basedOn: predecessors?.core, storing: core, metadata: described))
      }
    } catch Store.Error.attemptToAddVersionWithNonexistingPredecessors {
      throw Store.Error.attemptToAddVersionWithNonexistingPredecessors(
        Version(predecessors: predecessors, metadata: metadata))
    }
  }

  func add(_ versions: [VersionChanges]) throws -> [Version.ID: Store.Error] {
    let source = GivenVersions(versions)
    return Retrieval(try write { store in try store.retrieve(from: source) }).refused
  }

  func value(_ id: Value.ID, at version: Version.ID) throws -> Value? {
    try read { store in try store.value(id: id.core, at: version.core).map { Value($0) } }
  }

  func value(_ id: Value.ID, storedAt version: Version.ID) throws -> Value? {
    try read { store in
      guard try store.version(version.core) != nil else { return nil }
      return try store.value(id: id.core, storedAt: version.core).map { Value($0) }
    }
  }

  func reference(_ id: Value.ID, at version: Version.ID) throws -> Value.Reference? {
    try read { store in
      try store.valueReference(id: id.core, at: version.core).map { Value.Reference($0) }
    }
  }

  func references(at version: Version.ID) throws -> [Value.Reference] {
    try read { store in
      try store.valueReferences(at: version.core).map { Value.Reference($0) }
    }
  }

  func changes(madeIn version: Version.ID) throws -> [Value.Change] {
    try read { store in
      try store.valueChanges(madeInVersionIdentifiedBy: version.core).map { Value.Change($0) }
    }
  }

  func changes(from first: Version.ID, to second: Version.ID) throws -> [Value.Change] {
    try read { store in
      try store.valueChanges(madeBetween: first.core, and: second.core).map { Value.Change($0) }
    }
  }

  func planMerge(
    of first: Version.ID, with second: Version.ID, metadata: Version.Metadata,
    isUnrelatedAllowed: Bool
  ) throws -> MergePlan {
    let described = metadata.core
    let plan = try read { store in
      try store.planMerge(
        of: first.core, with: second.core, metadata: described,
        isUnrelatedAllowed: isUnrelatedAllowed)
    }
    switch plan {
    case .fastForward(let version): return .fastForward(Version(version))
    case .merge(let planned):
      return .merge(Merge(planned)) { [self] changes in
        let core = changes.map(\.core)
        return try write { store in Version(try store.make(planned, by: core, described)) }
      }
    }
  }

  func mergeAutomatically(into version: Version.ID) throws -> AutomaticMerge {
    try write { store in
      guard let live = try store.version(version.core) else { throw Store.Error.missingVersion }
      // On a branch, every store would make different merges.
      guard live.line == VersionRecord.unnamedLine else { return .unavailable }
      var (isWhole, outcome) = (false, LLVSCore.Version.ID?.none)
      while !isWhole {
        try store.write { (transaction) throws(StoreError) in
          let report = try transaction.mergeHeads(
            ofLine: nil, live: live.number, upTo: WriteTransaction.mergedAtOnce)
          isWhole = report.isWhole
          outcome = try report.outcome.flatMap { (number) throws(StoreError) in
            try transaction.version(number)?.id
          }
        }
      }
      guard let outcome, outcome != live.id else { return .nothingToMerge }
      return .merged(Version.ID(outcome))
    }
  }

  func compact(
    before date: Date, keeping count: Int, current: Version.ID?
  ) throws -> Version.ID? {
    try write { store in
      let now = SystemClock.now()
      let age = Double(now) / 1e9 - date.timeIntervalSince1970
      let policy = try KeepPolicy("all:\(UInt32(max(0, min(age, 4e9))))s")
      let report = try store.forget(
        policy, at: now,
        besides: { () throws(StoreError) in
          var kept = Set(
            try store.versionsNewestFirst(before: nil, limit: max(0, count)).map(\.number))
          if let current, let record = try store.version(current.core) {
            kept.insert(record.number)
          }
          return OutsideRoots(versions: kept)
        })
      guard report.newlyForgotten > 0 else { return nil }
      return try store.keptVersionsNewestFirst(before: nil, limit: .max).last.map {
        Version.ID($0.id)
      }
    }
  }

  func compressedVersionIDs() throws -> Set<Version.ID> {
    try read { store in
      let forgotten = try store.forgottenVersions()
      var ids: Set<Version.ID> = []
      guard !forgotten.isEmpty else { return ids }
      for number in 1...(try store.state().lastNumber)
      where forgotten.contains(VersionNumber(number)) {
        ids.insert(Version.ID(try store.id(of: VersionNumber(number))))
      }
      return ids
    }
  }

  func versionIDs(missingAmong known: Set<Version.ID>) throws -> [Version.ID] {
    let there = Set(known.map(\.core))
    return try read { store in
      try store.versionIDsToSend(without: there).map { Version.ID($0) }
    }
  }

  /// Stores the versions that a folder has and the store lacks, and returns the ids in the folder.
  func retrieve(
    fromFolder path: String, _ control: ExchangeControl
  ) throws -> (Retrieval, [Version.ID]) {
    let report = try write { store in
      let remote = VersionObjects(directory: path, replica: store.replicaID, control: control)
      return try store.retrieve(from: remote, control: control)
    }
    return (Retrieval(report), report.remoteIDs.map { Version.ID($0) })
  }

  func send(toFolder path: String, _ control: ExchangeControl) throws -> [Version.ID] {
    try read { store in
      let remote = VersionObjects(directory: path, replica: store.replicaID, control: control)
      return try store.send(to: remote, control: control).allSent().map { Version.ID($0) }
    }
  }

  func changesToSend(of version: Version.ID) throws -> [Value.Change] {
    try read { store in
      guard let input = try StoreSource(store).changes(of: version.core) else {
        throw Store.Error.missingVersion
      }
      return try [Value.Change](reading: input, of: version)
    }
  }
}

extension Retrieval {
  fileprivate init(_ report: ExchangeReport) {
    taken = report.taken.map { Version.ID($0) }
    for fault in report.refused + report.waiting {
      refused[Version.ID(fault.id)] = .invalid(fault.reason)
    }
  }
}

extension Merge {
  fileprivate init(_ planned: PlannedMerge) {
    self.init(
      versions: (Version(planned.versions.first), Version(planned.versions.second)),
      commonAncestor: planned.commonAncestor.map { Version($0) })
    for (key, stored) in planned.stored {
      forksByValueIdentifier[Value.ID(key)] = Value.Fork(
        base: stored.base, first: stored.first, second: stored.second)
    }
  }
}
