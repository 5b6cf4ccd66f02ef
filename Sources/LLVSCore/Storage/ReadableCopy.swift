internal import Platform

/// Copies of a store's databases, for a disk that is read-only or whose locks do not exclude other processes:
/// SQLite could not use its shared-memory file there. Only the owner can read the copies, which are removed with
/// this object. Segments are read in the store.
package final class ReadableCopy: Sendable {
  package let path: String
  static let databases = ["store.sqlite", "store.sqlite-wal", "index.sqlite", "index.sqlite-wal"]

  /// Copies the existing ones of some files in a store's directory.
  /// - Throws: ``StoreError/busy(_:)`` if they keep changing, because another machine writes to the disk.
  package init(of store: String, _ names: [String]) throws(StoreError) {
    path = "\(SystemProcess.temporaryDirectory)/llvs-copy-\(SystemRandom.hex(8))"
    try StoreError.translating(try FileSystem.makeDirectory(path, permissions: 0o700))
    do throws(SystemError) {
      for _ in 0..<5 {
        let before = try ReadableCopy.states(store, names)
        for name in before.keys {
          try File.regular("\(store)/\(name)", .read).copy(to: "\(path)/\(name)")
        }
        if try ReadableCopy.states(store, names) == before { return }
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
    // Copies that cannot be removed stay in the directory for temporary files, which the system clears.
    try? FileSystem.removeTree(path)
  }

  private static func states(
    _ store: String, _ names: [String]
  ) throws(SystemError) -> [String: FileStatus] {
    var states: [String: FileStatus] = [:]
    for name in names
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
