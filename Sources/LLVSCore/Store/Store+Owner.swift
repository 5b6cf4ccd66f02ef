internal import Platform

extension Store {
  /// Returns the owners of the store other than root and this process's user.
  package func strangers() throws(StoreError) -> [UInt32] {
    try StoreError.wrapping { () throws(SystemError) in
      // Checks the opened directory, even if another one has its path now.
      let opened = try directoryLock.map { (file) throws(SystemError) in try file.status() }
      let directory = if let opened { opened } else { try FileSystem.status(path) }
      let catalog = try FileSystem.status("\(path)/store.sqlite")
      var found: [UInt32] = []
      for owner in [directory.uid, catalog.uid]
      where owner != 0 && owner != SystemProcess.effectiveUser && !found.contains(owner) {
        found.append(owner)
      }
      return found
    }
  }
}
