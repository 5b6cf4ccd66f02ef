import LLVSCore
import LLVSExchange
import Platform
import TestSupport

/// A store on disk as the mount uses it: a live version, automatic merges of its line's heads.
final class StoreReplica: FolderMember {
  /// What its settings say of clashes.
  enum Setting: CaseIterable {
    case change
    case branch
    case content
  }

  let store: Store
  let setting: Setting
  private(set) var live: VersionNumber?

  init(_ path: String, _ setting: Setting) throws {
    store = try Store.open(path: path, mode: .writer, create: true)
    self.setting = setting
  }

  private var liveMap: ValueMap {
    get throws {
      guard let live else { return store.map(.empty) }
      return store.map(of: try require(store.version(live)))
    }
  }

  func author(_ values: [String: String?], settling: [String], _ play: FleetPlay) throws {
    let base = try liveMap
    var deed = FleetPlay.Deed(id: play.id(), settled: settling)
    let held = try tree()
    for (key, text) in values where text != nil || held[key] != nil { deed.values[key] = text }
    let open = try conflicts()
    for key in deed.touched {
      if let text = held[key] { deed.seen.insert(text) }
      deed.seen.formUnion((open[key] ?? []).compactMap(\.text))
    }
    let before = try live.flatMap { try store.version($0) }
    let timestamp = play.time(after: before.map { [$0.timestamp] } ?? [])
    let planned = deed
    let first = live
    let made = try store.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      var edits: [MapEdit] = []
      for (key, text) in planned.values {
        guard let text else {
          edits.append(.remove(Key(key), directory: false))
          continue
        }
        edits.append(
          .put(
            Entry(
              key: Key(key), kind: .regular, attributes: Attributes(),
              stored: try transaction.write(Array(text.utf8)), storedVersion: number,
              revision: try transaction.allotRevisions())))
      }
      let map = try base.applying(edits: edits.sorted(by: MapEdit.precedes))
      var metadata: Version.Metadata = [.digest: Version.MetadataValue(map.contentDigest.hex)]
      if !planned.settled.isEmpty {
        metadata[.settled] = Version.MetadataValue(keys: planned.settled.map { Key($0) })
      }
      return try transaction.add(
        NewVersion(
          number: number, id: planned.id, first: first, timestamp: timestamp, flags: .madeHere,
          metadata: metadata, map: map.root, changedKeys: planned.values.keys.map { Key($0) }))
    }
    live = made.number
    play.deeds.append(deed)
  }

  func merge(_ play: FleetPlay) throws -> Int {
    let live = live
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: live) { graph in
        switch self.setting {
        case .change: MostRecentChangeClashArbiter(graph: graph)
        case .branch: MostRecentBranchClashArbiter()
        case .content: ContentArbiter(.automatic, graph, self.store.contents)
        }
      }
    }
    self.live = report.outcome
    return report.made.count
  }

  func retrieve(from folder: String) throws {
    let report = try FolderFormat.files.retrieve(into: store, folder)
    guard report.refused.isEmpty else {
      throw StoreError.invalid("refused: \(report.refused)")
    }
  }

  func send(to folder: String) throws {
    try FolderFormat.files.send(store, folder)
  }

  func heads() throws -> [String] {
    try store.graph.uncontainedHeads(ofLine: nil).map(\.id.rawValue).sorted()
  }

  func tree() throws -> [String: String] {
    var tree: [String: String] = [:]
    var cursor = MapCursor(try liveMap)
    while let entry = try cursor.next() {
      tree[entry.key.rawValue] = String(
        decoding: try store.contents.bytes(entry.stored, atMost: 1000), as: UTF8.self)
    }
    return tree
  }

  func history() throws -> [String: [String]] {
    var history: [String: [String]] = [:]
    for record in try records() {
      history[record.id.rawValue] = try record.predecessors.map {
        try require(store.version($0)).id.rawValue
      }
    }
    return history
  }

  func records() throws -> [VersionRecord] {
    try store.versionsNewestFirst(before: nil, limit: 100_000)
  }

  /// The open conflicts of the live version: each key with what was dropped, by the version that stored it.
  func conflicts() throws -> [String: [(version: String, text: String?)]] {
    guard let live else { return [:] }
    var found: [String: [(version: String, text: String?)]] = [:]
    for conflict in try store.openConflicts(at: live) {
      found[conflict.key.rawValue] = try conflict.theirs.map { revision in
        (
          revision.version.id.rawValue,
          try revision.entry.map {
            String(decoding: try store.contents.bytes($0.stored, atMost: 1000), as: UTF8.self)
          }
        )
      }
    }
    return found
  }

  /// The open conflicts in words that mean the same everywhere, with what the tree holds and the base.
  func describedConflicts() throws -> [String] {
    guard let live else { return [] }
    return try store.openConflicts(at: live).map { conflict in
      let theirs = conflict.theirs.map {
        "\($0.version.id.rawValue) \($0.entry?.stored.digest.hex ?? "-")"
      }
      return "\(conflict.key.rawValue) base \(conflict.base?.stored.digest.hex ?? "-") "
        + "ours \(conflict.ours?.stored.digest.hex ?? "-") theirs \(theirs)"
    }
  }
}
