internal import Platform

// The treatment of a damaged log of the catalog, before SQLite opens it (``CatalogLog``).

extension Store {
  /// Repairs a damaged log, in a copy of the databases if this process must not change the store, and returns
  /// sentences about the damage.
  ///
  /// A reader must not even open a damaged log in place: the last process to close a database empties its log, and
  /// everything behind the damage would be lost.
  static func examinedLog(
    of path: String, mode: AccessMode, canWrite: Bool
  ) throws(StoreError) -> (copy: ReadableCopy?, faults: [String]) {
    do throws(SystemError) {
      if mode == .writer {
        let found = try CatalogLog.examine(path)
        try CatalogLog.mend(found, in: path)
        return (nil, found.words)
      }
      // A writer has examined the log when it opened the store, and has written to it since.
      let (isPaused, lock) = canWrite ? try isPaused(path) : (true, nil)
      defer { withExtendedLifetime(lock) {} }
      guard isPaused else { return (nil, []) }
      if canWrite, try CatalogLog.examine(path).isSound { return (nil, []) }
    } catch {
      throw .system(error)
    }
    let copy = try ReadableCopy(of: path, ReadableCopy.databases)
    return try StoreError.wrapping { () throws(SystemError) in
      let found = try CatalogLog.examine(copy.path)
      try CatalogLog.mend(found, in: copy.path)
      return (copy, found.words)
    }
  }

  /// False if another process writes to the store; none can open it while the file is open.
  private static func isPaused(_ path: String) throws(SystemError) -> (Bool, lock: File?) {
    guard try FileSystem.exists("\(path)/lock") else { return (true, nil) }
    let lock = try File.regular("\(path)/lock", .read)
    return (try lock.lock(.shared), lock)
  }

  /// Returns a sentence about versions that the index knows and the catalog lacks; nil if there are none. The index
  /// has only committed versions, so the catalog has lost them: a part of its log, or of a copied store's, is
  /// missing.
  static func lostVersions(_ index: Index, _ last: UInt32) -> String? {
    guard let known = index.newestVersion(after: last) else { return nil }
    return "store.sqlite ends with version number \(last), and index.sqlite knows number \(known): "
      + "the versions between were committed and are lost"
  }
}
