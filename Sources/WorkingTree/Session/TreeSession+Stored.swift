package import LLVSCore
import Platform

// The files that a tree is kept in, whether it is open or not.

extension TreeSession {
  static func journal(of store: String) -> String { "\(store)/journal" }
  static func rows(of store: String) -> String { "\(store)/tree.sqlite" }

  /// The id of this run of the kernel; empty where nobody knows.
  static var bootID: [UInt8] { (try? SystemProcess.bootID()).map { Array($0.utf8) } ?? [] }

  /// The reason that nothing can be changed since a sync failed, in words; nil as a rule.
  package var refusal: String? { journal.refusal }

  /// Gives back the space that a store's journal put aside, where a full disk kept the tree from opening.
  package static func giveUpReserve(of store: String) -> Bool {
    Journal.giveUpReserve(in: journal(of: store))
  }

  /// Gives the disk back whatever a store's journal holds besides records, before it is opened.
  ///
  /// - Important: the caller holds the store's lock.
  package static func giveUpRoom(of store: String) { Journal.giveUpRoom(in: journal(of: store)) }

  /// Returns the faults of the tree, in sentences without their periods. Programs may change it in the meantime.
  ///
  /// - Throws: as ``TreeVerification/faults(of:over:_:in:isCancelled:)``.
  package func faults(isCancelled: @escaping () -> Bool) throws(StoreError) -> [String] {
    try TreeVerification.faults(
      of: files, over: recorded, journal, in: store, isCancelled: isCancelled)
  }

  /// Returns the faults of the tree of a store that is not mounted, in sentences without their periods. Nothing is
  /// changed.
  ///
  /// - Throws: as ``TreeVerification/storedFaults(rows:journal:bootID:in:isCancelled:)``.
  package static func faults(
    ofTreeIn store: Store, isCancelled: @escaping () -> Bool = { false }
  ) throws(StoreError) -> [String] {
    try TreeVerification.storedFaults(
      rows: rows(of: store.path), journal: journal(of: store.path), bootID: bootID, in: store,
      isCancelled: isCancelled)
  }

  /// Returns the faults of a store's journal, in sentences without their periods. The store may be mounted.
  ///
  /// - Throws: the error of reading the catalog.
  package static func faults(ofJournalIn store: Store) throws(StoreError) -> [String] {
    try Journal.faults(in: journal(of: store.path), of: store.storeID) { () throws(StoreError) in
      try StoreCut.last(in: store)
    }
  }

  /// Copies a store, as it is now, with its pending changes into a directory that is not there or empty.
  ///
  /// Others may go on reading and writing, also a daemon that has it mounted. The rows of the recorded tree are left
  /// out: opening the copy makes them again. `progress` is called with the bytes of segments copied so far and in all;
  /// false cancels.
  ///
  /// - Throws: ``StoreError/exists(_:)`` if there is something in the directory, ``StoreError/busy(_:)`` if
  ///   versions are made so often that no moment is found, ``StoreError/cancelled``.
  package static func backup(
    _ store: Store, to target: String,
    progress: (_ done: UInt64, _ total: UInt64) -> Bool = { _, _ in true }
  ) throws(StoreError) {
    try store.backup(
      to: target,
      besides: { (copyCatalog) throws(StoreError) in
        for _ in 0..<attempts {
          try StoreError.wrapping { () throws(SystemError) in
            try FileSystem.removeTree(journal(of: target))
          }
          // The catalog and the journal must be of one cut: after a later one the journal lacks changes that the
          // copied catalog does not have.
          let cut = try StoreCut.last(in: store)
          try copyCatalog()
          if try Journal.copy(journal(of: store.path), to: journal(of: target)),
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
