internal import Platform

/// The files that a store was opened with; removed ones are lost with the last descriptor.
struct OpenedFiles: Sendable {
  private struct Place: Sendable {
    var path: String
    var device: UInt64
    var inode: UInt64
  }

  private let directory: String
  private let places: [Place]

  init(of directory: String) throws(StoreError) {
    self.directory = directory
    places = try StoreError.translating(
      try ["", "/store.sqlite", "/segments"].map { (name) throws(SystemError) in
        let status = try FileSystem.status(directory + name)
        return Place(path: directory + name, device: status.device, inode: status.inode)
      })
  }

  /// Checks that all files are at their paths.
  func check() throws(StoreError) {
    for place in places {
      do throws(SystemError) {
        let status = try FileSystem.status(place.path)
        if status.inode == place.inode, status.device == place.device { continue }
      } catch {
        guard error.errno == Errno.noEntry || error.errno == Errno.notDirectory else {
          throw .system(error)
        }
      }
      throw .notFound(
        "store in \(directory) any more: \(place.path) was removed, moved or replaced, and what is "
          + "still shown goes when this process ends")
    }
  }
}

extension Store {
  /// Checks that the files of this store are at their paths; does nothing for a reader, which can lose nothing.
  package func checkPresence() throws(StoreError) { try openedFiles?.check() }
}
