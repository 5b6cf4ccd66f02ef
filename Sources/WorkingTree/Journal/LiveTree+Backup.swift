package import LLVSCore
import Platform

// Copying a store with what is pending, while its daemon goes on.
//
// The copy has to be a state that a crash could have left: a journal whose last generation is the one that
// the catalog's head belongs to, or the one before it with that cut's mark in it. So the catalog is copied
// before the journal, and both again where a generation began meanwhile. What a record refers to was
// written before it, and what the catalog names is on the disk, so data files and segments come last.

extension LiveTree {
  /// Copies a store, as it is now, with its pending changes into a directory that is not there or empty.
  ///
  /// Others may go on reading and writing, also a daemon that has it mounted.
  ///
  /// `progress` is called with the bytes of segments copied so far and in all; false cancels.
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
            try FileSystem.removeTree(target + "/journal")
          }
          let before = try newest(in: store.path)
          try copyCatalog()
          if try copyJournal(of: store.path, to: target), try newest(in: store.path) == before {
            return
          }
        }
        throw .busy("\(store.path): versions are made too often for a copy; try again")
      }, progress: progress)
  }

  private static let attempts = 500

  /// The journal and staging files, by number.
  private static func files(in store: String) throws(StoreError) -> [(number: UInt32, name: String)]
  {
    try StoreError.wrapping { () throws(SystemError) in
      guard try FileSystem.exists(store + "/journal") else { return [] }
      return try FileSystem.list(store + "/journal").compactMap { name in
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1] == "journal" || parts[1] == "stage",
          let number = UInt32(parts[0])
        else { return nil }
        return (number, name)
      }
    }
  }

  private static func newest(in store: String) throws(StoreError) -> UInt32? {
    try files(in: store).filter { $0.name.hasSuffix(".journal") }.map(\.number).max()
  }

  /// Copies the newest journal, then all that it may refer to; false where a file went meanwhile.
  private static func copyJournal(
    of store: String, to target: String
  ) throws(StoreError) -> Bool {
    let newest = try newest(in: store)
    do throws(SystemError) {
      try FileSystem.makeDirectory(target + "/journal", permissions: 0o700)
      if let newest {
        let name = "/journal/" + Journal.journalName(newest)
        let journal = try File.regular(store + name, .read)
        // Zeros that stood behind its records when they were copied may be records a moment later, with
        // others behind them: only what is one now is copied. What is damaged is copied as it is.
        try journal.copy(to: target + name, upTo: JournalReader.end(of: journal))
      }
    } catch {
      if error.errno == Errno.noEntry { return false }
      throw .system(error)
    }
    let others = try files(in: store).filter {
      $0.number != newest || $0.name.hasSuffix(".stage")
    }
    do throws(SystemError) {
      for other in others {
        let name = "/journal/" + other.name
        try File.regular(store + name, .read).copy(to: target + name)
      }
      try FileSystem.syncDirectory(target + "/journal")
      return true
    } catch {
      if error.errno == Errno.noEntry { return false }
      throw .system(error)
    }
  }
}
