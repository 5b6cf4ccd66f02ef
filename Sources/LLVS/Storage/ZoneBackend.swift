internal import Foundation
internal import Synchronization

/// A store in zones: the original's formats of files and of SQLite, and those of programs.
///
/// INVARIANT Z1: a version's file is written after its values and its map, which are then durable: a crash leaves
/// bytes that no version refers to.
/// INVARIANT Z2: every file has the version's id in its name and is written once, so several processes can write
/// concurrently.
final class ZoneBackend: StoreBackend {
  /// Unchecked: a program's zones need not be Sendable; the lock admits one call at a time.
  private struct State: @unchecked Sendable {
    var versions = VersionsInMemory()
    var values: (any Zone)?
    var map: ZoneMap?
  }

  private let files: VersionFiles
  // Held while zones are used; else a leaf lock.
  private let state = Mutex(State())

  init(versions directory: URL, isDurable: Bool) {
    files = VersionFiles(directory: directory, isDurable: isDurable)
  }

  func attach(values: any Zone, map: any Zone) throws {
    let zones = State(values: values, map: ZoneMap(zone: map))
    state.withLock { state in
      state.values = zones.values
      state.map = zones.map
    }
    try reload()
  }

  /// Unchecked: only the caller gets the outcome.
  private struct Outcome<Value>: @unchecked Sendable { let result: Swift.Result<Value, any Error> }

  private func with<Result>(
    _ body: (inout VersionsInMemory, any Zone, ZoneMap) throws -> Result
  ) throws -> Result {
    let box = state.withLock { state -> Outcome<Result> in
      guard let values = state.values, let map = state.map else {
        return Outcome(result: .failure(Store.Error.readOnly))
      }
      return Outcome(result: Swift.Result { try body(&state.versions, values, map) })
    }
    return try box.result.get()
  }

  func reload() throws {
    try with { versions, _, _ in
      let read = try files.read(knowing: { versions.contains($0) }).inOrderOfDescent()
      for version in read {
        for id in version.predecessors?.ids ?? [] where !versions.contains(id) {
          throw Store.Error.corrupt(
            "the store lacks the version \(id.rawValue), a predecessor of \(version.id.rawValue)")
        }
        versions.add(version)
      }
    }
  }

  func heads(at current: Version.ID?) throws -> [HistoryHead] {
    try with { versions, _, _ in
      versions.heads.compactMap { versions.all[$0] }
        .sorted { ($0.timestamp, $0.id) > ($1.timestamp, $1.id) }
        .map { version in
          let name: String? = version.metadata[.branch]?.valueIfDecodable()
          return HistoryHead(
            id: version.id, timestamp: version.timestamp,
            branch: name.map { Branch(rawValue: $0) })
        }
    }
  }

  func forEachVersionID(_ body: (Version.ID) -> Void) throws {
    try with { versions, _, _ in for version in versions.inOrder { body(version.id) } }
  }

  /// Returns a version, and first reads the file of one that another object or process has added.
  private func known(_ id: Version.ID, _ versions: inout VersionsInMemory) throws -> Version? {
    if let version = versions.all[id] { return version }
    var (new, open) = ([Version.ID: Version](), [id])
    while let next = open.popLast() {
      guard !versions.contains(next), new[next] == nil else { continue }
      guard let version = try files.read(next) else { return nil }
      new[next] = version
      open += version.predecessors?.ids ?? []
    }
    for version in Array(new.values).inOrderOfDescent() { versions.add(version) }
    return versions.all[id]
  }

  func version(_ id: Version.ID) throws -> Version? {
    try with { versions, _, _ in try known(id, &versions) }
  }

  func contains(_ id: Version.ID) throws -> Bool {
    try with { versions, _, _ in try known(id, &versions) != nil }
  }

  func commonAncestor(of first: Version.ID, and second: Version.ID) throws -> Version.ID? {
    try with { versions, _, _ in
      guard try known(first, &versions) != nil, try known(second, &versions) != nil else {
        throw Store.Error.missingVersion
      }
      return versions.commonAncestor(of: first, and: second)?.id
    }
  }

  func versionIDs(storing id: Value.ID) throws -> [Version.ID] {
    try with { versions, _, map in
      try versions.inOrder.ids.filter { try map.reference(id, at: $0)?.storedVersionId == $0 }
    }
  }

  func makeVersion(
    basedOn predecessors: Version.Predecessors?, storing changes: [Value.Change],
    metadata: Version.Metadata
  ) throws -> Version {
    try with { versions, values, map in
      var version = Version(
        predecessors: predecessors, valueDataSize: changes.valueDataSize, metadata: metadata)
      // Later than its predecessors, even after a clock that was ahead.
      for id in predecessors?.ids ?? [] {
        guard let predecessor = try known(id, &versions) else {
          throw Store.Error.attemptToAddVersionWithNonexistingPredecessors(version)
        }
        version.timestamp = max(version.timestamp, predecessor.timestamp.nextUp)
      }
      try add(version, changes, &versions, values, map)
      return version
    }
  }

  private func add(
    _ version: Version, _ changes: [Value.Change], _ versions: inout VersionsInMemory,
    _ values: any Zone, _ map: ZoneMap
  ) throws {
    var references: [Value.ID: Value.Reference?] = [:]
    var stored: [Value.ID: Data] = [:]
    for change in changes {
      let id = change.valueId
      stored[id] = nil
      switch change {
      case .insert(let value), .update(let value):
        references[id] = .some(Value.Reference(valueId: id, storedVersionId: version.id))
        stored[id] = value.data
      case .remove, .preserveRemoval: references[id] = .some(nil)
      case .preserve(let reference):
        guard try known(reference.storedVersionId, &versions) != nil,
          try map.reference(id, at: reference.storedVersionId) == reference
        else {
          throw Store.Error.invalid("there is no value of \(id.rawValue) to preserve")
        }
        references[id] = .some(reference)
      }
    }
    let order = stored.keys.sorted()
    try values.store(
      order.compactMap { stored[$0] },
      for: order.map { ZoneReference(key: $0.rawValue, version: version.id) })
    try map.add(version.id, basedOn: version.predecessors?.idOfFirst, changing: references)
    try files.write(version)
    versions.add(version)
  }

  func add(_ given: [VersionChanges]) throws -> [Version.ID: Store.Error] {
    let source = GivenVersions(given)
    return try with { versions, values, map in
      var faults: [Version.ID: Store.Error] = [:]
      for (version, _) in given where try known(version.id, &versions) == nil {
        do {
          // Written and read again, so that the checks of an exchange apply.
          guard let read = try translated({ try source.version(version.id.core) }),
            let input = try translated({ try source.changes(of: version.id.core) })
          else { continue }
          let changes = try translated { try [Value.Change](reading: input, of: version.id) }
          let checked = Version(read)
          for id in checked.predecessors?.ids ?? [] where try known(id, &versions) == nil {
            throw Store.Error.attemptToAddVersionWithNonexistingPredecessors(checked)
          }
          try add(checked, changes, &versions, values, map)
        } catch let error as Store.Error {
          switch error {
          case .invalid, .attemptToAddVersionWithNonexistingPredecessors:
            faults[version.id] = error
          default: throw error
          }
        }
      }
      return faults
    }
  }

  func value(_ id: Value.ID, at version: Version.ID) throws -> Value? {
    try with { versions, values, map in
      guard try known(version, &versions) != nil else { throw Store.Error.missingVersion }
      return try map.reference(id, at: version).map { try value($0, in: values) }
    }
  }

  private func value(_ reference: Value.Reference, in values: any Zone) throws -> Value {
    let (id, version) = (reference.valueId, reference.storedVersionId)
    guard let data = try values.data(for: ZoneReference(key: id.rawValue, version: version)) else {
      throw Store.Error.corrupt(
        "the value of \(id.rawValue) that version \(version.rawValue) stored is missing")
    }
    return Value(id: id, data: data, storedVersionId: version)
  }

  func value(_ id: Value.ID, storedAt version: Version.ID) throws -> Value? {
    try with { _, values, _ in
      try values.data(for: ZoneReference(key: id.rawValue, version: version)).map {
        Value(id: id, data: $0, storedVersionId: version)
      }
    }
  }

  func reference(_ id: Value.ID, at version: Version.ID) throws -> Value.Reference? {
    try with { versions, _, map in
      guard try known(version, &versions) != nil else { throw Store.Error.missingVersion }
      return try map.reference(id, at: version)
    }
  }

  func references(at version: Version.ID) throws -> [Value.Reference] {
    try with { versions, _, map in
      guard try known(version, &versions) != nil else { throw Store.Error.missingVersion }
      return try map.references(at: version)
    }
  }

  func changes(madeIn version: Version.ID) throws -> [Value.Change] {
    try with { versions, values, map in
      guard let found = try known(version, &versions) else { throw Store.Error.missingVersion }
      var changes: [Value.Change] = []
      let (first, second) = (found.predecessors?.idOfFirst, found.predecessors?.idOfSecond)
      try map.forEachDifference(from: first, to: version) { id, old, new in
        if let new {
          if new.storedVersionId != version {
            changes.append(.preserve(new))
          } else {
            let value = try value(new, in: values)
            changes.append(old == nil ? .insert(value) : .update(value))
          }
        } else if let second, try map.reference(id, at: second) == nil {
          changes.append(.preserveRemoval(id))
        } else {
          changes.append(.remove(id))
        }
      }
      return changes
    }
  }

  func changesToSend(of version: Version.ID) throws -> [Value.Change] {
    try changes(madeIn: version)
  }

  func changes(from first: Version.ID, to second: Version.ID) throws -> [Value.Change] {
    try with { versions, values, map in
      guard try known(first, &versions) != nil, try known(second, &versions) != nil else {
        throw Store.Error.missingVersion
      }
      var changes: [Value.Change] = []
      try map.forEachDifference(from: first, to: second) { id, old, new in
        guard let new else { return changes.append(.remove(id)) }
        let value = try value(new, in: values)
        changes.append(old == nil ? .insert(value) : .update(value))
      }
      return changes
    }
  }

  func planMerge(
    of first: Version.ID, with second: Version.ID, metadata: Version.Metadata,
    isUnrelatedAllowed: Bool
  ) throws -> MergePlan {
    let plan = try with { versions, _, map -> (Merge?, Version?, [Value.Change]) in
      guard let one = try known(first, &versions), let other = try known(second, &versions) else {
        throw Store.Error.missingVersion
      }
      let ancestor = versions.commonAncestor(of: first, and: second)
      if ancestor?.id == first { return (nil, other, []) }
      if ancestor?.id == second { return (nil, one, []) }
      guard ancestor != nil || isUnrelatedAllowed else {
        throw Store.Error.noCommonAncestor(firstVersion: first, secondVersion: second)
      }
      let (forks, implied) = try Self.forks(ancestor?.id, first, second, map)
      let merge = Merge(
        versions: (one, other), commonAncestor: ancestor, forksByValueIdentifier: forks)
      return (merge, nil, implied)
    }
    switch plan {
    case (_, let version?, _): return .fastForward(version)
    case (nil, nil, _): throw Store.Error.missingVersion
    case (let merge?, nil, let implied):
      return .merge(merge) { [self] changes in
        let decided = Set(changes.valueIds)
        for (id, fork) in merge.conflicts where !decided.contains(id) {
          throw Store.Error.unresolvedConflict(valueId: id, valueFork: fork)
        }
        return try makeVersion(
          basedOn: Version.Predecessors(idOfFirst: first, idOfSecond: second),
          storing: changes + implied.filter { !decided.contains($0.valueId) },
          metadata: metadata)
      }
    }
  }

  /// Returns the forks, and the changes that apply the second version's own changes to the first.
  private static func forks(
    _ base: Version.ID?, _ first: Version.ID, _ second: Version.ID, _ map: ZoneMap
  ) throws -> ([Value.ID: Value.Fork], [Value.Change]) {
    typealias Sides = (base: Value.Reference?, first: Value.Reference?, second: Value.Reference?)
    var sides: [Value.ID: Sides] = [:]
    try map.forEachDifference(from: base, to: first) { id, old, new in
      sides[id] = (old, new, old)
    }
    try map.forEachDifference(from: base, to: second) { id, old, new in
      sides[id] = (old, sides[id]?.first ?? (sides[id] == nil ? old : nil), new)
    }
    var forks: [Value.ID: Value.Fork] = [:]
    var implied: [Value.Change] = []
    for (id, side) in sides.sorted(by: { $0.key < $1.key }) {
      guard let fork = Value.Fork(base: side.base, first: side.first, second: side.second)
      else { continue }
      forks[id] = fork
      switch fork {
      case .inserted(.second), .updated(.second):
        if let reference = side.second { implied.append(.preserve(reference)) }
      case .removed(.second): implied.append(.preserveRemoval(id))
      default: break
      }
    }
    return (forks, implied)
  }

  func versionIDs(missingAmong known: Set<Version.ID>) throws -> [Version.ID] {
    try with { versions, _, _ in versions.inOrder.ids.reversed().filter { !known.contains($0) } }
  }

  func compact(
    before date: Date, keeping count: Int, current: Version.ID?
  ) throws -> Version.ID? {
    throw Store.Error.unsupported(
      "a store in a format of the original keeps all versions; only the engine's own format can forget"
    )
  }

  func compressedVersionIDs() -> Set<Version.ID> { [] }

  func mergeAutomatically(into version: Version.ID) -> AutomaticMerge { .unavailable }
}
