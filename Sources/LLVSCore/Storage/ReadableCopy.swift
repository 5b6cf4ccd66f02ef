internal import Platform

/// Copies of a store's databases, for a store on a disk that cannot be written, or on which locks keep nobody
/// out: SQLite reads a database with a log beside it only where it can make a file for its readers, and with
/// the writer only where both share that.
///
/// In a directory of its own that only its owner reads; it goes with this object. What the store is read
/// for otherwise, its segments, is read where it is.
final class ReadableCopy: Sendable {
  /// Where the copies are, under the names that they have in the store.
  let path: String

  /// Copies what is there of the files.
  ///
  /// - Throws: ``StoreError/busy(_:)`` if they keep changing: the disk is written from elsewhere.
  /// - Complexity: O(size of the databases).
  init(of store: String) throws(StoreError) {
    path = "\(SystemProcess.temporaryDirectory)/llvs-copy-\(SystemRandom.hex(8))"
    do throws(SystemError) {
      try FileSystem.makeDirectory(path, permissions: 0o700)
    } catch {
      throw .system(error)
    }
    do throws(SystemError) {
      for _ in 0..<5 {
        let before = try ReadableCopy.states(store)
        for name in before.keys {
          try File.regular("\(store)/\(name)", .read).copy(to: "\(path)/\(name)")
        }
        if try ReadableCopy.states(store) == before { return }
        try FileSystem.removeTree(path)
        try FileSystem.makeDirectory(path, permissions: 0o700)
      }
    } catch {
      ReadableCopy.remove(path)
      throw .system(error)
    }
    ReadableCopy.remove(path)
    throw .busy(
      "\(store) is being written from elsewhere, and can be read here only while it is not")
  }

  deinit { ReadableCopy.remove(path) }

  private static func remove(_ path: String) {
    // What cannot be removed lies in the directory for such files, which others clear.
    try? FileSystem.removeTree(path)
  }

  private static func states(_ store: String) throws(SystemError) -> [String: FileStatus] {
    var states: [String: FileStatus] = [:]
    for name in ["store.sqlite", "store.sqlite-wal", "index.sqlite", "index.sqlite-wal"]
    where try FileSystem.exists("\(store)/\(name)") {
      let status = try FileSystem.status("\(store)/\(name)", following: false)
      guard status.kind == .regular else {
        throw SystemError(errno: Errno.tooManySymlinks, call: "open", subject: "\(store)/\(name)")
      }
      states[name] = status
    }
    return states
  }
}
