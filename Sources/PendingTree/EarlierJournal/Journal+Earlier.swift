import Inodes
import LLVSCore
import Platform

// Opening the journal of an earlier program: its checkpoint goes into the first file of this one's format.

extension Journal {
  /// Opens a journal that an earlier program wrote, of which this is the newest file.
  ///
  /// The file stays what the next mount finds until the first renewal, which writes what is pending anew. Files that
  /// bytes stand in are data files from then on.
  static func openEarlier(
    _ file: File, _ number: UInt32, _ names: [String], in directory: String, owner: JournalOwner,
    report: @escaping @Sendable (String) -> Void
  ) throws(StoreError) -> OpenedJournal {
    let checkpoint = try EarlierJournal.checkpoint(of: file)
    if let storeID = checkpoint.storeID, storeID != owner.storeID {
      throw .invalid(
        "the journal \(file.path) belongs to another store: put back the one of this store, or "
          + "move the directory away")
    }
    let numbers = names.compactMap { JournalFile.number($0) ?? DataFiles.stageNumber($0) }
    let files = DataFiles(directory: directory, lastNumber: numbers.max() ?? number)
    let end = try StoreError.wrapping { () throws(SystemError) in
      files.add(file, number, named: JournalFile.name(number), isSynced: false)
      for name in names {
        guard let other = JournalFile.number(name) ?? DataFiles.stageNumber(name),
          other != number
        else { continue }
        files.add(
          try File.regular("\(directory)/\(name)", .readWrite), other, named: name,
          isSynced: false)
      }
      return try file.status().size
    }
    for one in checkpoint.sums { files.note(one.sums, in: one.source) }
    let journal = Journal(
      directory: directory, owner: owner, files: files,
      state: State(
        phase: .stopped(.read),
        file: JournalFile(number: number, file: file, seed: 0, end: end, room: JournalRoom()),
        lastCut: checkpoint.cut),
      report: report)
    return OpenedJournal(
      journal: journal, overlay: Overlay(), epochs: [:], earlier: checkpoint,
      recovery: JournalRecovery())
  }
}
