internal import Platform

// What is done about a catalog's log that is damaged, before SQLite has seen it (``CatalogLog``).

extension Store {
  /// Puts the log right where it is damaged, in a copy of the databases where that is not this process's to
  /// do, and says what was found.
  ///
  /// A reader leaves the store as it is: it must not even open a damaged log in place, for whoever closes a
  /// database last empties its log, and what is behind the damage with it.
  static func readiedLog(
    of path: String, mode: Mode, canWrite: Bool
  ) throws(StoreError) -> (copy: ReadableCopy?, faults: [String]) {
    do throws(SystemError) {
      if mode == .writer {
        let found = try CatalogLog.examine(path)
        try CatalogLog.mend(found, in: path)
        return (nil, found.words)
      }
      // A writer has looked when it opened, and writes to the log since.
      let pause = canWrite ? try writerPause(path) : .pausing(nil)
      guard case .pausing(let held) = pause else { return (nil, []) }
      defer { withExtendedLifetime(held) {} }
      if canWrite, try CatalogLog.examine(path).isSound { return (nil, []) }
    } catch {
      throw .system(error)
    }
    let copy = try ReadableCopy(of: path)
    do throws(SystemError) {
      let found = try CatalogLog.examine(copy.path)
      try CatalogLog.mend(found, in: copy.path)
      return (copy, found.words)
    } catch {
      throw .system(error)
    }
  }

  private enum Pause {
    /// Somebody holds the store for writing.
    case writing
    /// Nobody does, nor can while the file is open.
    case pausing(File?)
  }

  private static func writerPause(_ path: String) throws(SystemError) -> Pause {
    // A copy of a store has none.
    guard try FileSystem.exists("\(path)/lock") else { return .pausing(nil) }
    let lock = try File.regular("\(path)/lock", .read)
    return try lock.lock(.shared) ? .pausing(lock) : .writing
  }

  /// A sentence about versions that the index knows and the catalog lacks, nil as a rule.
  ///
  /// Only what is committed is noted in the index, so the catalog has lost them: a part of its log, or a
  /// part of what was copied.
  static func lostVersions(_ index: Index, _ last: UInt32) -> String? {
    guard let known = index.newestVersion(after: last) else { return nil }
    return "store.sqlite ends with version number \(last), and index.sqlite knows number \(known): "
      + "the versions between were committed and are lost"
  }
}
