extension Store {
  package func versionLines(after number: UInt32, limit: Int) throws(StoreError) -> [VersionLine] {
    try catalog.read { (database) throws(StoreError) in
      try database.versionLines(after: number, limit: limit)
    }
  }

  package func versionLines(before number: UInt32, limit: Int) throws(StoreError) -> [VersionLine] {
    try catalog.read { (database) throws(StoreError) in
      try database.versionLines(before: number, limit: limit)
    }
  }
}
