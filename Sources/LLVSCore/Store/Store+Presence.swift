internal import Platform

/// The files that a store was opened with; removed ones are lost with the last descriptor.
struct OpenedFiles: Sendable {
  private let directory: String
  private let places: [(path: String, file: FileStatus.Identity)]

  init(of directory: String) throws(StoreError) {
    self.directory = directory
    places = try StoreError.translating(
      try ["", "/store.sqlite", "/segments"].map { (name) throws(SystemError) in
        (path: directory + name, file: try FileSystem.status(directory + name).identity)
      })
  }

  func check() throws(StoreError) {
    for place in places {
      do throws(SystemError) {
        if try FileSystem.status(place.path).identity == place.file { continue }
      } catch {
        guard error.isAbsence else { throw .system(error) }
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
