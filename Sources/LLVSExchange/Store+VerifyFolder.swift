package import LLVSCore

/// Reads everything in a folder into a store that is deleted afterwards: all that is damaged, cut
/// off or missing is a fault, even if a retrieval would wait for it.
extension Store {
  /// Reads both files of every version in a folder in the original's format.
  ///
  /// - Throws: as ``retrieve(from:control:)``.
  func readAll(
    of remote: VersionObjects, control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    let ids = try remote.versionIDs()
    let new = Set(try unknown(ids, control))
    var report = try retrieve(from: remote, control: control)
    // Versions that were retrieved from another place before are compared with the files here.
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
      where visited.insert(predecessor).inserted {
        open.append(predecessor)
      }
    }
    let source = StoreSource(other, control: control)
    _ = try retrieve(from: SomeVersions(source, wanted), control: control)
  }
}

/// Some of the versions of a place.
private final class SomeVersions<Source: VersionSource>: VersionSource {
  private let source: Source
  private let ids: [Version.ID]

  init(_ source: Source, _ ids: [Version.ID]) {
    self.source = source
    self.ids = ids
  }

  func versionIDs() -> [Version.ID] { ids }

  func version(_ id: Version.ID) throws(StoreError) -> Version? { try source.version(id) }

  func changes(of id: Version.ID) throws(StoreError) -> Source.Changes? {
    try source.changes(of: id)
  }

  func label(_ id: Version.ID) -> String { source.label(id) }

  func changesLabel(_ id: Version.ID) -> String { source.changesLabel(id) }

  func isNamed(_ reason: String) -> Bool { source.isNamed(reason) }
}
