struct VersionsInMemory {
  private(set) var all: [Version.ID: Version] = [:]
  private(set) var heads: Set<Version.ID> = []

  func contains(_ id: Version.ID) -> Bool { all[id] != nil }

  /// Adds a version whose predecessors were added.
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

  /// Newest first, each after all its descendants.
  var inOrder: [Version] {
    var order: [Version] = []
    var waiting = all.mapValues(\.successors.ids.count)
    var ready = Array(heads.compactMap { all[$0] })
    while !ready.isEmpty {
      // The newest of the ready versions is next; few are ready at once.
      guard
        let next = ready.indices.max(by: {
          (ready[$0].timestamp, ready[$0].id) < (ready[$1].timestamp, ready[$1].id)
        })
      else { break }
      let version = ready.remove(at: next)
      order.append(version)
      for id in Set(version.predecessors?.ids ?? []) {
        let left = (waiting[id] ?? 1) - 1
        waiting[id] = left
        if left == 0, let predecessor = all[id] { ready.append(predecessor) }
      }
    }
    return order
  }

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

  func commonAncestor(of first: Version.ID, and second: Version.ID) -> Version? {
    let common = line(of: first).intersection(line(of: second))
    return common.compactMap { all[$0] }
      .filter { $0.successors.ids.isDisjoint(with: common) }
      .max { ($0.timestamp, $0.id) < ($1.timestamp, $1.id) }
  }
}
