extension Store {
  package func versionLines(after number: UInt32, limit: Int) throws(StoreError) -> [VersionLine] {
    try catalog.read { (database) throws(StoreError) in
      try catalog.versionLines(after: number, limit: limit, in: database)
    }
  }

  package func versionLines(before number: UInt32, limit: Int) throws(StoreError) -> [VersionLine] {
    try catalog.read { (database) throws(StoreError) in
      try catalog.versionLines(before: number, limit: limit, in: database)
    }
  }
}
