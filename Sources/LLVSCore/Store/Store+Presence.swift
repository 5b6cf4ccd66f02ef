internal import Platform

/// Which files a store was opened with.
///
/// What is open goes on answering when its names are gone, and all of it is lost with the last descriptor.
struct OpenedFiles: Sendable {
  private struct Place: Sendable {
    var path: String
    var device: UInt64
    var inode: UInt64
  }

  private let directory: String
  private let places: [Place]

  /// Notes the files of a store that is open.
  ///
  /// - Throws: ``StoreError/system(_:)`` if one cannot be looked at.
  init(of directory: String) throws(StoreError) {
    self.directory = directory
    do throws(SystemError) {
      places = try ["", "/store.sqlite", "/segments"].map { (name) throws(SystemError) in
        let status = try FileSystem.status(directory + name)
        return Place(path: directory + name, device: status.device, inode: status.inode)
      }
    } catch {
      throw .system(error)
    }
  }

  /// Looks whether all stand where they were.
  ///
  /// - Throws: ``StoreError/notFound(_:)`` where one does not, ``StoreError/system(_:)`` where that cannot be
  ///   told.
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
  /// Looks whether the files of this store stand where they were opened.
  ///
  /// A reader, who keeps nothing that others could lose, is not asked.
  ///
  /// - Throws: ``StoreError/notFound(_:)`` where one does not, ``StoreError/system(_:)`` where that cannot be
  ///   told.
  package func checkPresence() throws(StoreError) { try openedFiles?.check() }
}
