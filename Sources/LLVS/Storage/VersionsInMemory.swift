/// All versions of a store in one of the original's formats, as a graph.
struct VersionsInMemory {
  private(set) var all: [Version.ID: Version] = [:]
  private(set) var heads: Set<Version.ID> = []

  func contains(_ id: Version.ID) -> Bool { all[id] != nil }

  /// Adds a version whose predecessors are there.
  mutating func add(_ version: Version) {
    var version = version
    version.successors = Version.Successors()
    all[version.id] = version
    heads.insert(version.id)
    for id in version.predecessors?.ids ?? [] {
      all[id]?.successors.ids.insert(version.id)
      heads.remove(id)
    }
  }

  /// Calls the body with each version, newest first, each after all its descendants.
  func forEach(_ body: (Version) -> Void) {
    var waiting = all.mapValues(\.successors.ids.count)
    var ready = Array(heads.compactMap { all[$0] })
    while !ready.isEmpty {
      // The newest of those that are ready is next; few are ready at once.
      guard
        let next = ready.indices.max(by: {
          (ready[$0].timestamp, ready[$0].id) < (ready[$1].timestamp, ready[$1].id)
        })
      else { return }
      let version = ready.remove(at: next)
      body(version)
      for id in Set(version.predecessors?.ids ?? []) {
        let left = (waiting[id] ?? 1) - 1
        waiting[id] = left
        if left == 0, let predecessor = all[id] { ready.append(predecessor) }
      }
    }
  }

  /// Returns a version and all its ancestors.
  private func line(of id: Version.ID) -> Set<Version.ID> {
    var found: Set = [id]
    var open = [id]
    while let next = open.popLast() {
      for predecessor in all[next]?.predecessors?.ids ?? []
      where found.insert(predecessor).inserted {
        open.append(predecessor)
      }
    }
    return found
  }

  /// Returns the newest common ancestor that is no ancestor of another one.
  func commonAncestor(of first: Version.ID, and second: Version.ID) -> Version? {
    let common = line(of: first).intersection(line(of: second))
    return common.compactMap { all[$0] }
      .filter { $0.successors.ids.isDisjoint(with: common) }
      .max { ($0.timestamp, $0.id) < ($1.timestamp, $1.id) }
  }
}
