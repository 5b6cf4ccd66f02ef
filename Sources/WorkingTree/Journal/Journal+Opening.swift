package import LLVSCore
import Platform

/// An opened journal, and what its records make.
package struct OpenedJournal: Sendable {
  /// The journal, which takes no record before its first renewal.
  package var journal: Journal
  package var overlay: Overlay
  /// The versions of epochs, by the store's numbers.
  package var epochs: [Epoch: UInt32]
  /// A cut that the store has and the overlay lacks: it is settled before programs see the tree.
  package var unsettled: TakingRecord?
  /// The overlay at the instant of that cut, as far as it is known.
  package var frozen: Overlay?
  /// The settled cuts that the rows lack, in their order.
  package var settled: [SettledCut] = []
  package var recovery: JournalRecovery
}

/// A cut whose end the journal has.
package struct SettledCut: Sendable {
  package var record: TakingRecord
  /// The overlay at its instant.
  package var frozen: Overlay
  /// The versions that the tree showed then and afterwards, by the store's numbers; 0 before the first one.
  package var before: UInt32
  package var after: UInt32
}

package struct JournalRecovery: Hashable, Sendable {
  package var records = 0
  /// True if no power was lost since the journal file was begun.
  package var isSameBoot = false
  /// True if the records have an older format, which this program must not continue.
  package var hasOldFormat = false
  /// The losses as messages that name the files.
  package var losses: [String] = []
}

extension Journal {
  /// Opens the journal in a directory, or begins one; reads O(newest journal file), after a power failure also the
  /// unsynced bytes.
  ///
  /// `rowsCut` is the cut of the rows on the disk; later cuts are in ``OpenedJournal/settled``.
  ///
  /// - Important: the caller holds the store's lock.
  /// - Throws: ``StoreError/fromTheFuture(_:)`` for an unknown format, ``StoreError/invalid(_:)`` for the journal
  ///   of another store, both unchanged; ``StoreError/system(_:)``.
  package static func open(
    _ directory: String, owner: JournalOwner, lastCut: UInt64, rowsCut: UInt64 = .max,
    report: @escaping @Sendable (String) -> Void
  ) throws(StoreError) -> OpenedJournal {
    var losses: [String] = []
    var names = try StoreError.translating(try prepare(directory))
    if let newest = names.compactMap(JournalFile.number).max() {
      let path = "\(directory)/\(JournalFile.name(newest))"
      let file = try StoreError.translating(try File.regular(path, .readWrite))
      if try hasHeader(file) {
        return try replay(
          file, newest, names, in: directory, owner: owner, lastCut: lastCut, rowsCut: rowsCut,
          report: report)
      }
    }
    if names.contains(where: { JournalFile.number($0) ?? DataFiles.stageNumber($0) != nil }) {
      let place = try StoreError.translating(try putAside(directory))
      losses.append(
        "nothing can be read in the journal of pending changes: it was put aside as \(place)")
      names = []
    }
    return try StoreError.translating(
      try begin(in: directory, owner: owner, lastCut: lastCut, losses, report))
  }

  /// Makes the directory, and removes unfinished files.
  private static func prepare(_ directory: String) throws(SystemError) -> [String] {
    if try FileSystem.exists(directory) {
      // A symbolic link could lead out of the store.
      _ = try File(directory, [.read, .directory, .noFollow])
    } else {
      try FileSystem.makeKeptDirectory(directory)
      try FileSystem.syncDirectory(FileSystem.directory(of: directory))
    }
    let names = try FileSystem.list(directory)
    for name in names where name.hasSuffix(".journal.tmp") {
      try FileSystem.unlink("\(directory)/\(name)")
    }
    return names
  }

  private static func hasHeader(_ file: File) throws(StoreError) -> Bool {
    let bytes = try StoreError.translating(try file.read(JournalFileHeader.size, at: 0))
    if case .none = JournalFileHeader.look(in: bytes) { return false }
    return true
  }

  /// Moves an unreadable journal away, and makes an empty directory in its place.
  private static func putAside(_ directory: String) throws(SystemError) -> String {
    let place = try freePlace(beside: directory)
    try FileSystem.rename(directory, to: place)
    try FileSystem.makeKeptDirectory(directory)
    try FileSystem.syncDirectory(FileSystem.directory(of: directory))
    return place
  }

  private static func freePlace(beside directory: String) throws(SystemError) -> String {
    var number = 1
    while try FileSystem.exists("\(directory).damaged-\(number)") { number += 1 }
    return "\(directory).damaged-\(number)"
  }

  private static func begin(
    in directory: String, owner: JournalOwner, lastCut: UInt64, _ losses: [String],
    _ report: @escaping @Sendable (String) -> Void
  ) throws(SystemError) -> OpenedJournal {
    let files = DataFiles(directory: directory, lastNumber: 0)
    var new = try NewJournalFile(
      number: files.nextNumber(), in: directory, owner: owner, cut: lastCut)
    let overlay = Overlay()
    let current: JournalFile
    do throws(SystemError) {
      try new.append(overlay, epochs: [:], files: files)
      try new.sync()
      current = try new.rename(room: JournalRoom(), files: files)
    } catch {
      new.abandon()
      throw error
    }
    try FileSystem.syncDirectory(directory)
    let journal = Journal(
      directory: directory, owner: owner, files: files,
      state: State(phase: .stopped(.read), file: current, lastCut: lastCut), report: report)
    return OpenedJournal(
      journal: journal, overlay: overlay, epochs: [:],
      recovery: JournalRecovery(isSameBoot: true, losses: losses))
  }

  /// Makes a journal of its newest file; with `isReadOnly` writes nothing, and ignores what
  /// ``faults(in:of:lastCut:)`` reports.
  static func replay(
    _ file: File, _ number: UInt32, _ names: [String], in directory: String, owner: JournalOwner,
    lastCut: UInt64, rowsCut: UInt64 = .max, isReadOnly: Bool = false,
    report: @escaping @Sendable (String) -> Void
  ) throws(StoreError) -> OpenedJournal {
    let reader = try JournalReader(file, bootID: owner.bootID)
    let header = reader.header
    guard header.storeID == owner.storeID else {
      throw .invalid(
        "the journal \(file.path) belongs to another store: put back the one of this store, or "
          + "move the directory away")
    }
    var recovery = JournalRecovery(
      isSameBoot: reader.isSameBoot, hasOldFormat: header.format < JournalFileHeader.format)
    if reader.isMended, !isReadOnly {
      recovery.losses.append(
        "\(file.path): a copy of the header was damaged; the other one is whole")
    }
    var replay = JournalReplay(lastCut: lastCut, rowsCut: rowsCut)
    let end = try read(reader, number, into: &replay, in: isReadOnly ? nil : directory, &recovery)
    recovery.records = replay.count
    let aheadCut = header.cut > lastCut && !isReadOnly ? header.cut : nil
    if let cut = replay.foreignCut ?? aheadCut {
      recovery.losses.append(
        "the store is older than its journal, which knows of cut \(cut) where the store has "
          + "\(lastCut): what was taken since is pending only as far as the journal has it")
    }
    let files = DataFiles(directory: directory, lastNumber: header.lastNumber)
    let lost = try StoreError.wrapping { () throws(SystemError) in
      files.add(file, number, named: JournalFile.name(number), isSynced: false)
      return try openFiles(
        names, in: directory, isReadOnly ? .read : .readWrite, files, replay,
        isSameBoot: reader.isSameBoot)
    }
    var overlay = replay.overlay
    recovery.losses += overlay.revert(lost, of: replay.reach).map {
      "\($0): its last bytes are not on the disk"
    }
    let current = JournalFile(
      number: number, file: file, seed: header.seed, end: end, room: JournalRoom())
    let journal = Journal(
      directory: directory, owner: owner, files: files,
      state: State(phase: .stopped(.read), file: current, lastCut: min(header.cut, lastCut)),
      report: report)
    return OpenedJournal(
      journal: journal, overlay: overlay, epochs: replay.epochs, unsettled: replay.unsettled,
      frozen: replay.unsettled == nil ? nil : replay.frozen, settled: replay.settled,
      recovery: recovery)
  }

  /// Reads all records up to the end or a damaged one, and returns that offset. A damaged file is kept next to
  /// `directory`.
  private static func read(
    _ reader: JournalReader, _ number: UInt32, into replay: inout JournalReplay,
    in directory: String?, _ recovery: inout JournalRecovery
  ) throws(StoreError) -> UInt64 {
    // One thread reads and decodes while the other applies.
    let company = ForkJoin(name: "llvs-journal")
    let batches = JournalBatches(reader)
    var batch = try batches.next()
    while true {
      let (next, end) = try company.both(
        { () throws(StoreError) in batch.isLast ? batch : try batches.next() },
        beside: { () throws(StoreError) in
          try take(batch, of: number, into: &replay, in: directory, &recovery)
        })
      if let end { return end }
      batch = next
    }
  }

  /// Applies records; returns the offset of the end or of damage, if it is among them.
  private static func take(
    _ batch: JournalBatches.Batch, of number: UInt32, into replay: inout JournalReplay,
    in directory: String?, _ recovery: inout JournalRecovery
  ) throws(StoreError) -> UInt64? {
    for (at, item) in batch.items {
      switch item {
      case .record(let record): replay.take(record, at: at)
      case .bytes(let sum, let isWhole):
        replay.take(JournalReplay.Run(source: number, sum: sum, at: at, isBad: !isWhole))
      case .end: return at
      case .damaged:
        let name = JournalFile.name(number)
        let loss = "journal/\(name): the record at byte \(at) is damaged"
        guard let directory else {
          recovery.losses.append("\(loss): what was changed after it cannot be read")
          return at
        }
        let kept = try StoreError.wrapping { () throws(SystemError) in
          let place = try freePlace(beside: directory)
          try FileSystem.makeKeptDirectory(place)
          try FileSystem.link("\(directory)/\(name)", to: "\(place)/\(name)")
          return "\(place)/\(name)"
        }
        recovery.losses.append(
          "\(directory)/\(name): the record at byte \(at) is damaged. What was changed after it "
            + "is lost; the file is kept as \(kept)")
        return at
      }
    }
    return nil
  }

  /// Opens all data files, and finds missing bytes. Bytes that rotted later are found when they are read.
  private static func openFiles(
    _ names: [String], in directory: String, _ mode: File.Mode, _ files: DataFiles,
    _ replay: JournalReplay, isSameBoot: Bool
  ) throws(SystemError) -> LostBytes {
    for name in names {
      guard let number = JournalFile.number(name) ?? DataFiles.stageNumber(name),
        files.file(number) == nil
      else { continue }
      files.add(
        try File.regular("\(directory)/\(name)", mode), number, named: name, isSynced: false)
    }
    var lost = LostBytes()
    for run in replay.runs {
      files.note([run.sum], in: run.source)
      guard !isSameBoot, run.at >= replay.syncedEnd else { continue }
      if run.isBad || !files.isWhole(run.sum, in: run.source) {
        lost.ranges[run.source, default: []].append(run.sum.range)
      }
    }
    for (number, file) in files.idle(besides: 0) { lost.sizes[number] = try file.status().size }
    return lost
  }
}
