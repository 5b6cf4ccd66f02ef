package import LLVSCore

extension Store {
  /// Reads every version in the original's format into a temporary store; damaged or missing files are faults.
  func readAll(
    of remote: VersionObjects, control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    let ids = try remote.versionIDs()
    let new = Set(try unknown(ids, control))
    var report = try retrieve(from: remote, control: control)
    // Versions that were retrieved from elsewhere are compared.
    let known = ids.filter { !new.contains($0) }
    report.refused += try verify(known, against: remote, control: control)
    report.refused += try remote.idsOfChangesAlone().map { id in
      ExchangeReport.Fault(
        id: id, reason: "\(remote.changesLabel(id)): there is no \(remote.label(id))")
    }
    return report
  }

  /// Stores versions of another store, with their ancestors.
  package func takeIn(
    _ ids: Set<Version.ID>, from other: Store, control: ExchangeControl
  ) throws(StoreError) {
    var open: [VersionNumber] = []
    for id in ids {
      if let record = try other.version(id) { open.append(record.number) }
    }
    var visited = Set(open)
    var wanted: [Version.ID] = []
    while let number = open.popLast() {
      let node = try other.graph.node(number)
      if try version(node.id) != nil { continue }
      wanted.append(node.id)
      for predecessor in [node.first, node.second].compactMap(\.self)
      where visited.insert(predecessor).inserted { open.append(predecessor) }
    }
    let source = StoreSource(other, only: wanted, control: control)
    _ = try retrieve(from: source, control: control)
  }
}
