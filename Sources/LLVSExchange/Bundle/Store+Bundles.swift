import LLVSCore

/// Exchanging through a folder of bundles.
extension Store {
  /// Versions that are encoded before they are appended, two threads at a time.
  private static let runCount = 256
  /// How often bundles are listed again because some of them went away meanwhile.
  private static let attempts = 4
  /// The changes of a version that says it stores no more are put together in memory.
  private static let shortVersion: Int64 = 65_536

  /// Takes in every version that can be taken from the bundles that were not read before.
  ///
  /// What is refused is named with its file; a bundle counts as read once all its versions are here.
  ///
  /// - Throws: ``StoreError/unreachable(_:)``, ``StoreError/cancelled``, or an error of this store.
  func retrieve(
    from folder: BundleFolder, control: ExchangeControl = ExchangeControl()
  ) throws(StoreError) -> ExchangeReport {
    var earlier = ExchangeReport()
    for _ in 0..<Store.attempts - 1 {
      let newest = try state().lastNumber
      control.report(.listing, 0, of: 0)
      let source = try BundleSource(folder, for: self, control: control)
      do throws(StoreError) {
        return try retrieve(from: source, after: earlier, control: control)
      } catch {
        // Its writer put bundles together: what was in those that are gone is in others by now.
        guard case .unreachable = error, try folder.lacks(any: source.names) else { throw error }
        for id in source.versionIDs() {
          guard let record = try version(id), record.number.rawValue > newest else { continue }
          earlier.taken.append(id)
          earlier.takenNumbers.append(record.number)
        }
      }
    }
    let source = try BundleSource(folder, for: self, control: control)
    return try retrieve(from: source, after: earlier, control: control)
  }

  func retrieve(
    from source: BundleSource, after earlier: ExchangeReport, control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    var report = try retrieve(from: source, control: control)
    while source.turnToOtherCopies(of: report.refused.map(\.id)) {
      let again = try retrieve(from: source, control: control)
      report.taken += again.taken
      report.takenNumbers += again.takenNumbers
      report.refused = again.refused
      report.waiting = again.waiting
    }
    try noteRead(source.bundles, taken: report)
    report.refused = source.faults + report.refused
    report.waiting = source.torn + report.waiting
    report.taken = earlier.taken + report.taken
    report.takenNumbers = earlier.takenNumbers + report.takenNumbers
    return report
  }

  /// Writes every version that no bundle there holds, but heads that others contain
  /// (docs/merging.md, M5).
  ///
  /// - Throws: ``StoreError/unreachable(_:)``, ``StoreError/cancelled``, or an error of this store.
  func send(
    to folder: BundleFolder, control: ExchangeControl = ExchangeControl()
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    control.report(.listing, 0, of: 0)
    let source = try BundleSource(folder, for: self, control: control)
    let ids = Set(source.versionIDs())
    func stillMissing(_ names: [BundleName]) throws(StoreError) -> [VersionNumber] {
      let numbers = try versionsThere(names)
      return try versionsToSend(control) { node in
        numbers.contains(node.number) || ids.contains(node.id)
      }
    }
    var names = source.names
    var missing = try stillMissing(names)
    // Also what an earlier send left behind.
    defer { folder.abandon() }
    guard !missing.isEmpty else { return report }
    try folder.prepare()
    // Who has nothing to send reads nothing.
    let whole = try checkOwnBundle(of: names, in: folder, control)
    if whole.count < names.count {
      names = whole
      missing = try stillMissing(names)
    }
    var rest = missing[...]
    var sequence = folder.nextSequence(after: names)
    var unsent = UnsentVersions()
    while !rest.isEmpty {
      guard let (sent, name) = try sendOne(&rest, to: folder, sequence, &unsent, control) else {
        break
      }
      report.sent += sent
      names.append(name)
      sequence = BundleName.sequence(after: sequence)
      control.report(.sending, missing.count - rest.count, of: missing.count)
    }
    report.refused = unsent.faults
    do throws(StoreError) {
      try putBundlesTogether(names, in: folder, control)
    } catch {
      // All that was to be sent is there, and the old ones are too: the next send tries again.
      switch error {
      case .unreachable, .system, .noSpace: break
      default: throw error
      }
    }
    return report
  }

  // MARK: Sending

  /// Writes one bundle with as many of the versions as belong into it, and takes them off the list, those
  /// that cannot be sent too; nil where none is left that can.
  func sendOne(
    _ rest: inout ArraySlice<VersionNumber>, to folder: BundleFolder, _ sequence: UInt64,
    _ unsent: inout UnsentVersions, _ control: ExchangeControl
  ) throws(StoreError) -> (sent: [Version.ID], name: BundleName)? {
    let all = rest
    while true {
      let file = try folder.create()
      var offset: UInt64 = 0
      let writer = try BundleWriter(scratch: path) { (bytes) throws(StoreError) in
        try control.check()
        try folder.write(bytes, to: file, at: offset)
        offset += UInt64(bytes.count)
      }
      rest = all
      guard let sent = try write(&rest, to: writer, &unsent, control) else { continue }
      guard !sent.isEmpty else { return nil }
      let (length, hash) = try writer.finish()
      let name = try folder.publish(file, sequence: sequence, length: length, hash: hash)
      try write { (transaction) throws(StoreError) in
        transaction.note(bundle: hash, versions: sent.map(\.number))
      }
      return (sent.map(\.id), name)
    }
  }

  /// Writes versions until the bundle is full, and takes them off the list; nil where it holds a part of one
  /// that turned out to be damaged, so that it has to be written anew without that.
  private func write(
    _ rest: inout ArraySlice<VersionNumber>, to writer: BundleWriter,
    _ unsent: inout UnsentVersions, _ control: ExchangeControl
  ) throws(StoreError) -> [VersionRecord]? {
    var sent: [VersionRecord] = []
    while !rest.isEmpty, !writer.isFull {
      let records = try records(rest.prefix(Store.runCount))
      let encoded = try Parallel.map(records.count) { (index) throws(StoreError) in
        try control.check()
        return try self.bundled(records[index])
      }
      for (record, encoded) in zip(records, encoded) where !writer.isFull {
        rest.removeFirst()
        if unsent.isNoted(record) { continue }
        switch encoded {
        case .damaged(let damage): _ = try unsent.bars(record, damage, in: self)
        case .short(let version, let bytes):
          if try unsent.bars(record, nil, in: self) { continue }
          try writer.add(version) { (append) throws(StoreError) in try bytes.withPiece(append) }
          sent.append(record)
        case .long(let version):
          if try unsent.bars(record, nil, in: self) { continue }
          do throws(StoreError) {
            try writer.add(version) { (append) throws(StoreError) in
              var changes = BundleChangeWriter(append)
              try writeChanges(of: record, to: &changes)
            }
          } catch {
            guard error.isDamage else { throw error }
            _ = try unsent.bars(record, error.message, in: self)
            return nil
          }
          sent.append(record)
        }
      }
    }
    return sent
  }

  private func records(
    _ numbers: ArraySlice<VersionNumber>
  ) throws(StoreError) -> [VersionRecord] {
    try catalog.readView { (view) throws(StoreError) in
      var records: [VersionRecord] = []
      for number in numbers {
        guard let record = try catalog.version(number, in: view) else {
          throw .corrupt("there is no version number \(number.rawValue)")
        }
        records.append(record)
      }
      return records
    }
  }

  /// A version on its way into a bundle.
  private enum Encoded {
    /// With its changes as a bundle has them.
    case short(Version, [UInt8])
    /// Its changes are written as they are read.
    case long(Version)
    case damaged(String)
  }

  private func bundled(_ record: VersionRecord) throws(StoreError) -> Encoded {
    do throws(StoreError) {
      let version = try version(from: record)
      guard let size = record.valueDataSize, size <= Store.shortVersion else {
        return .long(version)
      }
      var bytes: [UInt8] = []
      var changes = BundleChangeWriter { bytes.append(contentsOf: $0) }
      try writeChanges(of: record, to: &changes)
      return .short(version, bytes)
    } catch {
      guard error.isDamage else { throw error }
      return .damaged(error.message)
    }
  }

  // MARK: What was read

  /// The bundles that were not read before, or not all of whose versions were taken.
  func unread(_ names: [BundleName]) throws(StoreError) -> [BundleName] {
    try catalog.readView { (view) throws(StoreError) in
      var unread: [BundleName] = []
      for name in names where try catalog.versions(inBundle: name.hash, in: view) == nil {
        unread.append(name)
      }
      return unread
    }
  }

  /// The versions that stand in bundles that were read or written here.
  private func versionsThere(_ names: [BundleName]) throws(StoreError) -> NumberSet {
    try catalog.readView { (view) throws(StoreError) in
      var numbers = NumberSet()
      for name in names {
        for run in try catalog.versions(inBundle: name.hash, in: view) ?? [] {
          numbers.insert(run)
        }
      }
      return numbers
    }
  }

  /// Notes the bundles all of whose versions are here.
  private func noteRead(
    _ bundles: [BundleReader], taken report: ExchangeReport
  ) throws(StoreError) {
    guard mode == .writer, !bundles.isEmpty else { return }
    let taken = Dictionary(
      zip(report.taken, report.takenNumbers), uniquingKeysWith: { first, _ in first })
    let read = try catalog.readView { (view) throws(StoreError) in
      var read: [(Digest, [VersionNumber])] = []
      for bundle in bundles {
        var numbers: [VersionNumber] = []
        for entry in bundle.entries {
          var number = taken[entry.id]
          if number == nil { number = try catalog.number(of: entry.id, in: view) }
          guard let number else { break }
          numbers.append(number)
        }
        if numbers.count == bundle.entries.count { read.append((bundle.name.hash, numbers)) }
      }
      return read
    }
    guard !read.isEmpty else { return }
    try write { (transaction) throws(StoreError) in
      for (hash, numbers) in read { transaction.note(bundle: hash, versions: numbers) }
    }
  }
}
