package import Platform

extension Store {
  /// Returns what the owners of the store may make this process do.
  package func ownerTrust() throws(StoreError) -> OwnerTrust {
    try StoreError.wrapping { () throws(SystemError) in
      // Checks the opened directory, even if another one has its path now.
      let opened = try directoryLock.map { (file) throws(SystemError) in try file.status() }
      let directory = if let opened { opened } else { try FileSystem.status(path) }
      let catalog = try FileSystem.status("\(path)/store.sqlite")
      return OwnerTrust(owners: [directory.uid, catalog.uid])
    }
  }
}
