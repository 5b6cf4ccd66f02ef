package import LLVSCore
import Platform

extension TreeSession {
  private static let journalName = "journal"
  static func journal(of store: String) -> String { "\(store)/\(journalName)" }
  static func rows(of store: String) -> String { "\(store)/tree.sqlite" }
  /// The id of the running kernel; empty if unknown.
  static var bootID: [UInt8] { (try? SystemProcess.bootID()).map { Array($0.utf8) } ?? [] }
  /// The reason that nothing can be changed since a sync failed; usually nil.
  package var refusal: String? { journal.refusal }

  /// Frees the space that a store's journal reserves, if a full disk kept the tree from opening.
  package static func giveUpReserve(of store: String) -> Bool {
    Reserve.giveUp(in: journal(of: store))
  }

  /// Frees what a store's journal holds besides records, before it is opened.
  /// - Important: the caller holds the store's lock.
  package static func giveUpRoom(of store: String) { Journal.giveUpRoom(in: journal(of: store)) }

  /// The faults of the tree, as sentences without periods. Programs may change the tree concurrently.
  /// - Throws: as ``TreeVerification/faults(of:over:_:in:isCancelled:)``.
  package func faults(isCancelled: @escaping () -> Bool) throws(StoreError) -> [String] {
    try TreeVerification.faults(
      of: files, over: recorded, journal, in: store, isCancelled: isCancelled)
  }

  /// The faults of the tree of a store that is not mounted, as sentences without periods. Changes nothing.
  /// - Throws: as ``TreeVerification/storedFaults(rows:journal:bootID:in:isCancelled:)``.
  package static func faults(
    ofTreeIn store: Store, isCancelled: @escaping () -> Bool = { false }
  ) throws(StoreError) -> [String] {
    try TreeVerification.storedFaults(
      rows: rows(of: store.path), journal: journal(of: store.path), bootID: bootID, in: store,
      isCancelled: isCancelled)
  }

  /// The faults of a store's journal, as sentences without periods. The store may be mounted.
  /// - Throws: the error of reading the catalog.
  package static func faults(ofJournalIn store: Store) throws(StoreError) -> [String] {
    try Journal.faults(in: journal(of: store.path), of: store.storeID) { () throws(StoreError) in
      try StoreCut.last(in: store)
    }
  }

  /// What the tree needs of old versions, for ``Store/forget(_:at:isTrial:limit:besides:control:)``.
  /// - Throws: ``StoreError/corrupt(_:)`` if the store has a journal that could not be read: it may need any of them.
  package func roots() throws(StoreError) -> OutsideRoots {
    let names = try StoreError.translating(try FileSystem.list(store.path))
    if let name = names.first(where: { $0.hasPrefix("\(Self.journalName).damaged-") }) {
      throw .corrupt(
        "\(store.path)/\(name) has changes that may need old versions, so nothing is forgotten")
    }
    var roots = files.roots
    if let head = shownHead { roots.versions.insert(head) }
    return roots
  }

  /// Copies a store with its pending changes into a directory that is empty, does not exist, or holds its last copy.
  ///
  /// Other processes may read and write the store, also a daemon that has mounted it. Opening the copy makes the
  /// rows again. `progress` is called with the bytes of segments done and in all; false cancels.
  /// - Returns: the number of bytes of segments that were written.
  /// - Throws: ``StoreError/exists(_:)`` if the directory holds something else, ``StoreError/busy(_:)`` if versions
  ///   are made too often, ``StoreError/cancelled``; a later call continues then.
  @discardableResult
  package static func backup(
    _ store: Store, to target: String, settings: [String: [UInt8]] = [:],
    progress: (_ done: UInt64, _ total: UInt64) -> Bool = { _, _ in true }
  ) throws(StoreError) -> UInt64 {
    let part = "\(journal(of: target)).part"
    return try store.backup(
      to: target, settings: settings, others: [journalName],
      besides: { (copyCatalog) throws(StoreError) in
        for _ in 0..<attempts {
          try StoreError.translating(try FileSystem.removeTree(part))
          // Of one cut with the journal: a later one lacks changes that the copied catalog lacks too.
          let cut = try StoreCut.last(in: store)
          try copyCatalog()
          if try Journal.copy(journal(of: store.path), to: part),
            try StoreCut.last(in: store) == cut
          {
            return
          }
        }
        throw .busy("\(store.path): versions are made too often for a copy; try again")
      }, progress: progress)
  }

  private static let attempts = 500
}
