import LLVSCore
internal import ObjectStores
internal import Platform

/// Exchanges through a folder of bundles.
extension Store {
  /// The number of versions that two threads encode before they are appended.
  private static let runCount = 256
  /// The number of times that bundles are listed again because some were removed meanwhile.
  private static let attempts = 4
  /// The changes of a version that claims to store no more bytes than this are encoded in memory.
  private static let shortVersion: Int64 = 65_536

  /// Stores every acceptable version from bundles that were not read before.
  ///
  /// Refused versions are reported with their file; a bundle counts as read when all its versions
  /// are in the store.
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
      // What is gone has been combined with others.
      if !source.lost.isEmpty, try folder.lacks(any: source.lost) { continue }
      do throws(StoreError) {
        return try retrieve(from: source, after: earlier, control: control)
      } catch {
        // The writer has combined bundles: the versions of those that are gone are in others by
        // now.
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
    while source.useOtherCopies(of: report.refused.map(\.id)) {
      let again = try retrieve(from: source, control: control)
      report.taken += again.taken
      report.takenNumbers += again.takenNumbers
      report.refused = again.refused
      report.waiting = again.waiting
    }
    try recordRead(source.bundles, taken: report)
    report.refused = source.faults + report.refused
    report.waiting = source.torn + report.waiting
    report.taken = earlier.taken + report.taken
    report.takenNumbers = earlier.takenNumbers + report.takenNumbers
    return report
  }

  /// Writes every version that no bundle holds, except contained heads (docs/merging.md, M5).
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
    guard !missing.isEmpty else { return report }
    try folder.prepare()
    // A store that has nothing to send reads nothing.
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
      try combineBundles(names, in: folder, control)
    } catch {
      // All versions to send are there, and the old bundles are too: the next send tries again.
      switch error {
      case .unreachable, .system, .noSpace: break
      default: throw error
      }
    }
    return report
  }

  // MARK: Sending

  /// Writes one bundle with as many of the versions as it may hold, and removes them from the list,
  /// as well as those that cannot be sent; nil if no version that can be sent is left.
  func sendOne(
    _ rest: inout ArraySlice<VersionNumber>, to folder: BundleFolder, _ sequence: UInt64,
    _ unsent: inout UnsentVersions, _ control: ExchangeControl
  ) throws(StoreError) -> (sent: [Version.ID], name: BundleName)? {
    let all = rest
    while true {
      let spool = folder.begin()
      let writer = try BundleWriter(scratch: path) { (bytes) throws(StoreError) in
        try control.check()
        try asking { () throws(RemoteError) in try spool.append(bytes) }
      }
      rest = all
      guard let sent = try write(&rest, to: writer, &unsent, control) else { continue }
      guard !sent.isEmpty else { return nil }
      let (_, hash) = try writer.finish()
      let name = try folder.publish(spool, sequence: sequence, hash: hash)
      try write { (transaction) throws(StoreError) in
        transaction.note(bundle: hash, versions: sent.map(\.number))
      }
      return (sent.map(\.id), name)
    }
  }

  /// Writes versions until the bundle is full, and removes them from the list; nil if the bundle
  /// contains a part of a version that is damaged, so that it has to be written anew without it.
  private func write(
    _ rest: inout ArraySlice<VersionNumber>, to writer: BundleWriter,
    _ unsent: inout UnsentVersions, _ control: ExchangeControl
  ) throws(StoreError) -> [VersionRecord]? {
    var sent: [VersionRecord] = []
    while !rest.isEmpty, !writer.isFull {
      let records = try records(rest.prefix(Store.runCount))
      let encoded = try Threads.computing.map(records.count) { (index) throws(StoreError) in
        try control.check()
        return try self.bundled(records[index])
      }
      for (record, encoded) in zip(records, encoded) where !writer.isFull {
        rest.removeFirst()
        if unsent.contains(record) { continue }
        switch encoded {
        case .damaged(let damage): _ = try unsent.excludes(record, damage, in: self)
        case .short(let version, let bytes):
          if try unsent.excludes(record, nil, in: self) { continue }
          try writer.add(version) { (append) throws(StoreError) in try bytes.withPiece(append) }
          sent.append(record)
        case .long(let version):
          if try unsent.excludes(record, nil, in: self) { continue }
          do throws(StoreError) {
            try writer.add(version) { (append) throws(StoreError) in
              var changes = BundleChangeWriter(append)
              try writeChanges(of: record, to: &changes)
            }
          } catch {
            guard error.isDamage else { throw error }
            _ = try unsent.excludes(record, error.message, in: self)
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

  /// A version that is about to be written into a bundle.
  private enum Encoded {
    /// The version and its changes in the form of a bundle.
    case short(Version, [UInt8])
    /// A version whose changes are written while they are read.
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

  /// Returns the bundles that were not read before, or of which some version was not stored.
  func unread(_ names: [BundleName]) throws(StoreError) -> [BundleName] {
    try catalog.readView { (view) throws(StoreError) in
      var unread: [BundleName] = []
      for name in names where try catalog.versions(inBundle: name.hash, in: view) == nil {
        unread.append(name)
      }
      return unread
    }
  }

  /// Returns the versions in bundles that were read or written here.
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

  /// Records the bundles all of whose versions are in the store.
  private func recordRead(
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
