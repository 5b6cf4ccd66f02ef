package import LLVSCore
package import ObjectStores

/// Versions in the original's format at any remote: docs/exchanges.md, rule 8.
package struct FileLayout: RemoteLayout {
  private let objects: any ObjectStore
  private let transfer: TransferControl
  /// The note of a store about the versions whose files were found damaged there.
  private let damaged: String
  /// The note of a store about the lengths of the files there.
  private let lengths: String

  /// `place` is the remote as the user names it.
  package init(_ objects: any ObjectStore, place: String, transfer: TransferControl) {
    self.objects = objects
    self.transfer = transfer
    damaged = "files.damaged \(place)"
    lengths = "files.lengths \(place)"
  }

  /// The name of a store's own folder at a remote, for unfinished objects.
  package static func scratch(of store: Store) -> String { scratch(of: store.replicaID) }
  static func scratch(of replica: String) -> String { ".llvs-outgoing-\(replica)" }

  private func files(for store: Store) -> VersionObjects {
    VersionObjects(objects, for: store, transfer: transfer)
  }

  package func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    let files = files(for: store)
    var outline = try store.outline(of: files, control: control)
    // A place with any known object is the right one, and is repaired.
    for id in outline.isShared ? [] : try files.idsOfChangesAlone() {
      if try store.version(id) != nil { outline.isShared = true }
    }
    return outline
  }

  package func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try store.retrieve(from: files(for: store), control: control)
  }

  package func verify(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    let files = files(for: store)
    var report = try store.check(files, control: control)
    let faulty = report.refused.map(\.id.rawValue).joined(separator: "\n")
    store.note(damaged, Array(faulty.utf8))
    report.refused += try files.idsOfChangesAlone().map { id in
      ExchangeReport.Fault(
        id: id, reason: "\(files.changesLabel(id)): there is no \(files.label(id))")
    }
    return report
  }

  package func send(
    from store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    let files = files(for: store)
    let noted = String(decoding: store.noted(damaged) ?? [], as: UTF8.self)
    files.damaged = Set(noted.split(separator: "\n").map { Version.ID(String($0)) })
    control.report(.listing, 0, of: 0)
    let known = FileLengths(store.noted(lengths) ?? [])
    var history: [(number: VersionNumber, id: Version.ID)] = []
    _ = try store.versionsToSend(control) { node in
      history.append((node.number, node.id))
      return true
    }
    let listed = Set(try files.wholeIDs())
    for (number, id) in history where known[number] != 0 && listed.contains(id) {
      try control.check()
      guard try files.lengths(of: id) != known[number] else { continue }
      if try isDamaged(id, files, store) { files.damaged.insert(id) }
    }
    var report = try store.send(
      to: files, known: listed.subtracting(files.damaged), control: control)
    try note(known, of: history, files, report, store)
    guard !files.damaged.isEmpty else { return report }
    let sent = Set(report.sent)
    let left = files.damaged.filter { !sent.contains($0) }
    store.note(damaged, Array(left.map(\.rawValue).sorted().joined(separator: "\n").utf8))
    report.mayBeDamaged = !left.isEmpty
    let count = files.damaged.count - left.count
    if count > 0 {
      report.notes.append("\(count) damaged version\(count == 1 ? "" : "s") replaced")
    }
    return report
  }
}

/// Versions at one remote in several layouts. Each layout gets all versions.
package struct SeveralLayouts: RemoteLayout {
  private let layouts: [any RemoteLayout]
  package init(_ layouts: [any RemoteLayout]) { self.layouts = layouts }
  var bundleRemote: BundleRemote? { layouts.lazy.compactMap { $0 as? BundleRemote }.first }

  package func outline(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> PlaceOutline {
    var outline = PlaceOutline()
    for layout in layouts where !outline.isShared {
      outline.add(try layout.outline(for: store, control))
    }
    return outline
  }

  package func retrieve(
    into store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try each { (layout) throws(StoreError) in try layout.retrieve(into: store, control) }
  }

  package func verify(
    for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try each { (layout) throws(StoreError) in try layout.verify(for: store, control) }
  }

  package func send(
    from store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    try each { (layout) throws(StoreError) in try layout.send(from: store, control) }
  }

  package func bytes(
    of values: [LackedValue], for store: Store, _ control: ExchangeControl
  ) throws(StoreError) -> [Digest: [UInt8]] {
    var found: [Digest: [UInt8]] = [:]
    for layout in layouts {
      let left = values.filter { found[$0.digest] == nil }
      if left.isEmpty { break }
      found.merge(try layout.bytes(of: left, for: store, control)) { old, _ in old }
    }
    return found
  }

  private func each(
    _ body: (any RemoteLayout) throws(StoreError) -> ExchangeReport
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    for layout in layouts { report.add(try body(layout)) }
    return report
  }
}

extension FileLayout {
  private func isDamaged(
    _ id: Version.ID, _ files: VersionObjects, _ store: Store
  ) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try store.fault(of: id, files.version(id), in: files) != nil
    } catch {
      guard case .invalid = error else { throw error }
      return true
    }
  }

  /// Notes the lengths of the files that are there after a send.
  private func note(
    _ known: FileLengths, of history: [(number: VersionNumber, id: Version.ID)],
    _ files: VersionObjects, _ report: ExchangeReport, _ store: Store
  ) throws(StoreError) {
    var known = known
    let there = Set(report.remoteIDs + report.sent)
    for (number, id) in history {
      known[number] = there.contains(id) ? try files.lengths(of: id) ?? 0 : 0
    }
    let bytes = known.bytes
    if store.noted(lengths) ?? [] != bytes { store.note(lengths, bytes) }
  }
}

extension ExchangeControl {
  /// A control of transfers that ends with this one.
  package var transfer: TransferControl {
    // `check` is made for calls from any thread.
    nonisolated(unsafe) let control = self
    return TransferControl(isStopped: { (try? control.check()) == nil })
  }
}
