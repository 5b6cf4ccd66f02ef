package import LLVSCore
internal import Platform

extension Store {
  /// The most versions, and bytes of their values, that become visible at once.
  private static let sendCount = 256
  private static let sendBytes: Int64 = 64 << 20

  /// Writes every version that a remote lacks, except contained heads (docs/merging.md, M5).
  /// Versions with damaged data are left out and reported, with their descendants.
  /// `known` are the versions that are there; nil lists them.
  package func send(
    to remote: VersionObjects, known: Set<Version.ID>? = nil,
    control: ExchangeControl = ExchangeControl()
  ) throws(StoreError) -> ExchangeReport {
    var report = ExchangeReport()
    control.report(.listing, 0, of: 0)
    let known = if let known { known } else { Set(try remote.wholeIDs()) }
    report.remoteIDs = Array(known)
    let numbers = try versionsToSend(control) { known.contains($0.id) }
    // The files have the bytes of values in base64.
    let bytes = try countBytes(of: numbers) / 3 * 4
    if !numbers.isEmpty { control.report(.sending, 0, of: numbers.count, bytes: bytes) }
    var unsent = UnsentVersions()
    do throws(StoreError) {
      var rest = numbers[...]
      var batch = try writeNext(&rest, to: remote, &unsent, control)
      while !batch.isEmpty || !rest.isEmpty {
        let (ids, left, barred) = (batch, rest, unsent)
        // Making a batch durable mostly waits; the next one is written concurrently.
        let (_, next) = try Threads.publishing.both {
          () throws(StoreError) in
          try remote.publish(ids)
        } beside: { () throws(StoreError) in
          var (left, barred) = (left, barred)
          return (try self.writeNext(&left, to: remote, &barred, control), left, barred)
        }
        report.sent += ids
        control.report(.sending, report.sent.count, of: numbers.count, bytes: bytes)
        (batch, rest, unsent) = next
      }
    } catch {
      remote.abandon()
      throw error
    }
    remote.abandon()
    report.refused = unsent.faults
    return report
  }

  /// Returns the bytes of the values that versions stored.
  func countBytes(of numbers: [VersionNumber]) throws(StoreError) -> UInt64 {
    var bytes: UInt64 = 0
    for number in numbers { bytes += UInt64(max(0, try version(number)?.valueDataSize ?? 0)) }
    return bytes
  }

  package func versionIDsToSend(without known: Set<Version.ID>) throws(StoreError) -> [Version.ID] {
    var ids: [Version.ID] = []
    for number in try versionsToSend(ExchangeControl(), isThere: { known.contains($0.id) }) {
      ids.append(try id(of: number))
    }
    return ids
  }

  /// Returns the missing ancestors of all uncontained heads by number; versions up to `known` are there.
  func versionsToSend(
    _ control: ExchangeControl, after known: UInt32 = 0, isThere: (HistoryNode) -> Bool
  ) throws(StoreError) -> [VersionNumber] {
    var open: [VersionNumber] = []
    // The unnamed line, and a line with an empty name, which no listing of lines returns.
    for line in [nil, Branch(rawValue: "")] {
      open += try graph.uncontainedHeads(ofLine: line).map(\.number)
    }
    var last: String?
    while true {
      let lines = try lines(after: last, limit: 256)
      guard let end = lines.last else { break }
      last = end
      for line in lines where line != VersionRecord.unnamedLine {
        open += try graph.uncontainedHeads(ofLine: Branch(rawValue: line)).map(\.number)
      }
    }
    var visited = Set(open)
    var missing: [VersionNumber] = []
    while let number = open.popLast() {
      // Predecessors have smaller numbers.
      guard number.rawValue > known else { continue }
      try control.check()
      let node = try graph.node(number)
      if !isThere(node) { missing.append(number) }
      for predecessor in [node.first, node.second].compactMap(\.self)
      where visited.insert(predecessor).inserted { open.append(predecessor) }
    }
    return missing.sorted()
  }

  /// Removes the next versions from a list, writes their files, and returns the ids of those written.
  private func writeNext(
    _ numbers: inout ArraySlice<VersionNumber>, to remote: VersionObjects,
    _ unsent: inout UnsentVersions, _ control: ExchangeControl
  ) throws(StoreError) -> [Version.ID] {
    let batch = try nextToSend(numbers)
    numbers = numbers.dropFirst(batch.count)
    let failed = Flag()
    let written = try Threads.map(batch.count, width: remote.requests) {
      (index) throws(StoreError) -> (VersionRecord, String?)? in
      // The other thread throws its error.
      guard !failed.isSet else { return nil }
      do throws(StoreError) {
        try control.check()
        return try self.write(batch[index], to: remote)
      } catch {
        failed.set()
        throw error
      }
    }
    var ids: [Version.ID] = []
    // Files of excluded versions are not published, and are removed.
    for case (let record, let damage)? in written
    where try !unsent.excludes(record, damage, in: self) { ids.append(record.id) }
    return ids
  }

  private func nextToSend(
    _ numbers: ArraySlice<VersionNumber>
  ) throws(StoreError) -> [VersionNumber] {
    var batch: [VersionNumber] = []
    var bytes: Int64 = 0
    for number in numbers.prefix(Store.sendCount) where bytes < Store.sendBytes {
      batch.append(number)
      bytes += try version(number)?.valueDataSize ?? 0
    }
    return batch
  }

  private func write(
    _ number: VersionNumber, to remote: VersionObjects
  ) throws(StoreError) -> (VersionRecord, String?) {
    guard let record = try version(number) else {
      throw .corrupt("there is no version number \(number.rawValue)")
    }
    do throws(StoreError) {
      try remote.write(.changes, record.id) { (output) throws(StoreError) in
        try writeChanges(of: record, to: output)
      }
      try remote.write(.version, record.id) { (output) throws(StoreError) in
        try version(from: record).write(to: output)
      }
    } catch  where error.isForgotten {
      return (
        record,
        "this store has forgotten bytes of it, and the original's files need all; "
          + "sync a machine that has them with this peer first"
      )
    } catch  where error.isDamage {
      return (record, error.message)
    }
    return (record, nil)
  }

  package func writeChanges(of record: VersionRecord, to output: WireOutput) throws(StoreError) {
    var writer = ChangeWriter(output, of: record.id)
    let contents = contents
    func pieces(of entry: Entry) throws(StoreError) -> ChangeWriter.Pieces {
      try output.expect(entry.stored.length)
      func pass(_ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        try contents.forEachPiece(of: entry.stored, named: entry.key, take)
      }
      return pass
    }
    try forEachChange(toSendOf: record) { (change) throws(StoreError) in
      try writer.append(change.map(pieces))
    }
    try writer.finish()
  }

  /// Calls the body with the changes of a version: the recorded ones, or those that follow from the maps.
  func forEachChange(
    toSendOf record: VersionRecord, _ body: (WireChange<Entry>) throws(StoreError) -> Void
  ) throws(StoreError) {
    let map = map(of: record)
    guard record.second == nil || record.changes != nil else {
      return try forEachChange(ofMerge: record, map, body)
    }
    func entry(_ key: Key) throws(StoreError) -> Entry {
      if let entry = try map.entry(at: key) { return entry }
      throw .corrupt("version \(record.id.rawValue) has lost its value at \(key.rawValue)")
    }
    try forEachChange(madeIn: record) { (change) throws(StoreError) in
      switch change {
      case .insert(let key): try body(.insert(key, try entry(key)))
      case .update(let key): try body(.update(key, try entry(key)))
      case .remove(let key): try body(.remove(key))
      case .preserve(let key, let id): try body(.preserve(key, id))
      case .preserveRemoval(let key): try body(.preserveRemoval(key))
      }
    }
  }

  /// Passes a merge's changes of its first predecessor: `preserve` for an ancestor's values (docs/merging.md, M10).
  private func forEachChange(
    ofMerge record: VersionRecord, _ map: ValueMap,
    _ body: (WireChange<Entry>) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard
      let first = try record.first.flatMap({ number throws(StoreError) in try version(number) }),
      let second = try record.second.flatMap({ number throws(StoreError) in try version(number) })
    else { throw .corrupt("version \(record.id.rawValue) has lost a predecessor") }
    let other = self.map(of: second)
    var diff = try MapDiff(from: self.map(of: first), to: map)
    while let change = try diff.next() {
      guard !change.isDirectory else { continue }
      let key = change.key
      guard let new = change.new else {
        try body(try other.entry(at: key) == nil ? .preserveRemoval(key) : .remove(key))
        continue
      }
      let old = change.old
      if old?.storedVersion == new.storedVersion, old?.stored.digest == new.stored.digest {
        continue
      }
      if new.storedVersion == record.number {
        try body(old == nil ? .insert(key, new) : .update(key, new))
      } else {
        try body(.preserve(key, try id(of: new.storedVersion)))
      }
    }
  }
}

/// The versions that cannot be sent: those with damaged data, and their descendants.
struct UnsentVersions {
  private var numbers: Set<VersionNumber> = []
  private var damaged: [ExchangeReport.Fault] = []
  private var descendants: [ExchangeReport.Fault] = []
  /// The reasons why they cannot be sent.
  var faults: [ExchangeReport.Fault] { damaged + descendants }

  /// Records a version that is damaged, or follows one that was recorded; false for others.
  mutating func excludes(
    _ record: VersionRecord, _ damage: String?, in store: Store
  ) throws(StoreError) -> Bool {
    func fault(_ reason: String) -> ExchangeReport.Fault {
      ExchangeReport.Fault(id: record.id, reason: "version \(record.name): \(reason)")
    }
    if let damage {
      damaged.append(fault(damage))
    } else if let cause = record.predecessors.first(where: { numbers.contains($0) }) {
      let name = try store.version(cause)?.name ?? "\(cause.rawValue)"
      descendants.append(fault("its predecessor \(name) cannot be sent"))
    } else {
      return false
    }
    numbers.insert(record.number)
    return true
  }
}

extension ContentStore {
  /// Damage is reported with the key.
  func forEachPiece(
    of stored: StoredContent, named key: Key,
    _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    var bodyError: StoreError?
    do throws(StoreError) {
      try forEachPiece(of: stored) { (piece) throws(StoreError) in
        do throws(StoreError) {
          try body(piece)
        } catch {
          bodyError = error
          throw error
        }
      }
    } catch {
      guard bodyError == nil, error.isDamage else { throw error }
      throw .corrupt("\(key.rawValue): \(error.message)")
    }
  }

  func forEachPiece(
    of stored: StoredContent, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    if stored.length <= 262_144 {
      let bytes = try bytes(stored)
      if !bytes.isEmpty { try bytes.withPiece(body) }
      return
    }
    var buffer = [UInt8](repeating: 0, count: 262_144)
    var offset: UInt64 = 0
    while offset < stored.length {
      offset += try buffer.withUnsafeMutableBufferPointer { (buffer) throws(StoreError) in
        let raw = UnsafeMutableRawBufferPointer(buffer)
        let count = try read(stored, at: offset, into: raw)
        guard count > 0 else { throw .corrupt("a value ends before its length") }
        try body(UnsafeRawBufferPointer(rebasing: raw[..<count]))
        return UInt64(count)
      }
    }
  }
}
