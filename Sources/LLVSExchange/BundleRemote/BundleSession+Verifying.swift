import LLVSCore
import ObjectStores

extension BundleSession {
  /// Reads every bundle once, notes which are damaged, and finds the versions that can be read whole.
  func verify() throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    var reasons: [BundleName: String] = [:]
    let length = listing.names.reduce(0) { $0 + $1.length }
    for (index, name) in listing.names.enumerated() where seen.faults[name] == nil {
      try control.check()
      control.report(.reading, index, of: listing.names.count, bytes: length)
      reasons[name] = try damage(of: name)
      if let reason = reasons[name] {
        try noteDamage(of: name, reason)
      } else {
        try noteSound(name)
      }
    }
    report.refused =
      refused
      + damaged.map { fault in
        var fault = fault
        fault.reason = BundleName(fault.id.rawValue).flatMap { reasons[$0] } ?? fault.reason
        return fault
      }
    let needless = needless.map { "\($0.object)" }.sorted()
    if !needless.isEmpty {
      report.notes.append(
        "\(Self.unneeded(needless.count)): \(needless.joined(separator: ", "))")
    }
    let told = reports
    // This also reports a torn bundle of this store.
    let torn = listing.torn.filter { text in
      guard let name = BundleName(text) else { return false }
      return !self.view().isGone(name.writer, name.sequence) && !self.view().isNeedless(name)
        && !told.contains { $0.id.rawValue == text }
    }
    report.waiting =
      told
      + torn.map { text in
        ExchangeReport.Fault(
          id: Version.ID(text), reason: "\(BundleFormat.folder)/\(text): it is not whole",
          isObject: true, cause: "not whole")
      }
    var held: [VersionNumber: Bool] = [:]
    var others: Set<Version.ID> = []
    let view = view()
    for name in view.names where view.holds(name) && seen.listed.contains(name) {
      try compare(name, &report, &held, &others)
    }
    report.remoteIDs = try wholeVersions(of: held)
    try addOthers(others, to: &report)
    return report
  }

  /// Adds the versions that are not in this store: those that can be read with their ancestors, and the rest.
  private func addOthers(
    _ others: Set<Version.ID>, to report: inout ExchangeReport
  ) throws(StoreError) {
    let source = try BundleRemoteSource(self)
    var readable: [(id: Version.ID, predecessors: [Version.ID])] = []
    for id in source.versionIDs() where others.contains(id) {
      try control.check()
      if try source.changes(of: id) != nil, let version = try source.version(id) {
        readable.append((id, version.predecessors?.ids ?? []))
      } else {
        report.waiting.append(
          ExchangeReport.Fault(id: id, reason: "\(source.label(id)): a part of it is not there"))
      }
    }
    report.addReadable(readable, label: source.label)
  }

  /// Compares the outlines of a bundle with the versions that are here, and collects the other versions. `held` gets
  /// the versions that are here, and true for those whose bytes bundles have.
  private func compare(
    _ name: BundleName, _ report: inout ExchangeReport, _ held: inout [VersionNumber: Bool],
    _ others: inout Set<Version.ID>
  ) throws(StoreError) {
    let bundle = try opened(name)
    let table = try bundle.table()
    let entries = try bundle.entries().filter { $0.id != nil }
    let ids = entries.compactMap(\.id)
    for (index, (id, entry)) in zip(ids, entries).enumerated() {
      try control.check()
      guard let record = try store.version(id) else {
        others.insert(id)
        continue
      }
      let description = try bundle.description(of: entry) { distance in
        distance <= UInt64(index) ? ids[index - Int(distance)] : nil
      }
      if let reason = try store.difference(of: record, description, in: bundle, table) {
        report.refused.append(ExchangeReport.Fault(id: id, reason: reason))
      }
      guard held[record.number] != true else { continue }
      held[record.number] = try holdsItems(of: record) { () throws(StoreError) in
        let numbers = Dictionary(zip(table.items, 0...)) { first, _ in first }
        return try BundleChanges(
          bundle, table, numbers: numbers, description.changes,
          ItemFetcher(self, usesStore: false), label: bundle.label(id)
        ).isComplete()
      }
    }
  }

  /// Returns the versions of this store that can be read whole there: outline, bytes of all values, and ancestors.
  private func wholeVersions(of held: [VersionNumber: Bool]) throws(StoreError) -> [Version.ID] {
    let view = view()
    // No list may show the newest yet.
    let noted = versions(in: view.names.filter(view.holds))
    var whole: Set<VersionNumber> = []
    var ids: [Version.ID] = []
    for number in try store.versionsToSend(control, isThere: { _ in false }) {
      try control.check()
      let node = try store.graph.node(number)
      guard [node.first, node.second].allSatisfy({ $0.map(whole.contains) ?? true }),
        let record = try store.version(number)
      else { continue }
      var isWhole = held[number] ?? false
      // This store has put the version, with the bytes that it had then.
      if held[number] == nil, noted.contains(number) {
        isWhole = try holdsItems(of: record) { true }
      }
      guard isWhole else { continue }
      whole.insert(number)
      ids.append(record.id)
    }
    return ids
  }

  /// Returns true if bundles hold the bytes of all values that a version stores; a damaged version has none. If this
  /// store lacks bytes that are in no bundle, nothing says that they were ever sent, and `orInBundles` decides.
  private func holdsItems(
    of record: VersionRecord, orInBundles isComplete: () throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    let view = view()
    var isWhole = true
    do throws(StoreError) {
      try store.forEachChange(toSendOf: record) { (change) throws(StoreError) in
        _ = try change.map { (entry) throws(StoreError) in
          guard isWhole, !entry.isInOutline else { return }
          try store.contents.forEachPart(of: entry.stored) { (part) throws(StoreError) in
            guard isWhole else { return }
            isWhole = try canRead(BundleItem(part), where: view.holds)
          }
          if !isWhole, try !store.hasBytes(of: entry.stored) {
            throw .forgotten(entry.key.rawValue)
          }
        }
      }
    } catch {
      if error.isForgotten { return try isComplete() }
      guard error.isDamage else { throw error }
      return false
    }
    return isWhole
  }

  private func noteSound(_ name: BundleName) throws(StoreError) {
    guard var noted = notes[name] else { return }
    let before = noted.state
    noted.state.remove(.damaged)
    if view().unneeded.contains(BundleNumber(name)) { noted.state.insert(.readAgain) }
    if noted.state != before { try note([(noted, nil)]) }
  }

  /// Reads the bundles that another store could not read, once; true if any is damaged.
  func readDoubted() throws(StoreError) -> Bool {
    let view = view()
    var isDamaged = false
    for name in view.names
    where view.unneeded.contains(BundleNumber(name)) && view.holds(name)
      && notes[name]?.state.contains(.readAgain) == false
    {
      try control.check()
      if let reason = try damage(of: name) {
        try noteDamage(of: name, reason)
        isDamaged = true
      } else {
        try noteSound(name)
      }
    }
    return isDamaged
  }

  /// Reads a bundle whole, once; returns what is wrong with it, nil if nothing is.
  func damage(of name: BundleName) throws(StoreError) -> String? {
    do throws(StoreError) {
      let bundle = try opened(name)
      let table = try bundle.table()
      let check = BundleCheck(bundle, table, store)
      var hasher = SHA256Hasher()
      var length: UInt64 = 0
      do throws(RemoteError) {
        try objects.get(name.object, range: nil) { piece in
          hasher.update(piece)
          check.add(piece)
          length += UInt64(piece.count)
          return length <= name.length && (try? control.check()) != nil
        }
      } catch {
        guard error.kind == .absent else { throw StoreError(error) }
        throw .notFound("\(name.object)")
      }
      try control.check()
      guard hasher.finish() == name.hash else {
        return "\(name.object): damaged (checksum)"
      }
      for number in check.unread {
        do throws(StoreError) {
          _ = try ItemFetcher(self).bytes(number, in: bundle, table)
        } catch .notFound {
          continue  // The bundle with its base is lost.
        }
      }
      return check.isRight ? nil : "\(name.object): its items are not what its table says"
    } catch {
      switch error {
      case .invalid(let reason): return reason
      case .notFound: return try faultOfAbsent(name) ?? "\(name.object): it is gone"
      default: throw error
      }
    }
  }
}

extension Entry {
  /// True if an outline holds the value itself, not the items that it consists of.
  var isInOutline: Bool {
    stored.length <= UInt64(Entry.inlineLimit) || kind == .symlink && stored.length <= 4095
  }
}

/// Compares the items of a bundle with its table while the bytes of the bundle pass.
private final class BundleCheck {
  private let bundle: BundleReader
  private let table: BundleTable
  private let store: Store
  private var frame = 0
  private var skip = Int(BundleFormat.headLength)
  private var bytes: [UInt8] = []
  private(set) var isRight = true
  /// The patches of chunks that this store does not have.
  private(set) var unread: [Int] = []

  init(_ bundle: BundleReader, _ table: BundleTable, _ store: Store) {
    self.bundle = bundle
    self.table = table
    self.store = store
  }

  func add(_ piece: UnsafeRawBufferPointer) {
    let content = bundle.directory.content
    guard isRight, frame < content.count else { return }
    bytes += piece
    var start = min(skip, bytes.count)
    skip -= start
    while skip == 0, frame < content.count, bytes.count - start >= content[frame].stands {
      let end = start + content[frame].stands
      guard isRight(Array(bytes[start..<end])) else {
        isRight = false
        return
      }
      (start, frame) = (end, frame + 1)
    }
    bytes.removeFirst(start)
  }

  private func isRight(_ standing: [UInt8]) -> Bool {
    let first = bundle.firstItems[frame]
    var prefix: [UInt8] = []
    for base in table.bases[first] ?? [] {
      guard let chunk = store.contents.bytes(ofChunk: base) else {
        unread.append(first)
        return true
      }
      prefix += chunk
    }
    return bundle.isRight(standing, frame: frame, table, from: prefix)
  }
}

extension Store {
  /// Returns how an outline of a version differs from the version here; no bytes of values are read.
  fileprivate func difference(
    of record: VersionRecord, _ outline: BundleReader.Description, in bundle: BundleReader,
    _ table: BundleTable
  ) throws(StoreError) -> String? {
    let label = bundle.label(record.id)
    do throws(StoreError) {
      if let reason = try difference(of: record, outline.version, label: label) { return reason }
      if let digest = outline.contentDigest, digest != record.map.digest {
        return "\(label): its content is \(record.map.digest.hex) here and \(digest.hex) there"
      }
      let (map, stream) = (map(of: record), OutlineStream(bundle, outline.changes, label: label))
      while !stream.isAtEnd {
        let change = try stream.change(in: bundle.directory)
        let what = try difference(of: change, map, record) { (stored, value) throws(StoreError) in
          let item = BundleItem(value: stored.digest, length: stored.length)
          return switch value {
          case .inline(let bytes):
            UInt64(bytes.count) == stored.length && Digest.of(bytes) == stored.digest
          case .item(let number, let length):
            length == stored.length && table.items[number] == item
          case .leftOut(let digest, let length, _), .forgotten(let digest, let length):
            length == stored.length && digest == stored.digest
          }
        }
        if let what { return "\(label): \(what)" }
      }
      return nil
    } catch .invalid(let reason) {
      return reason
    }
  }
}
