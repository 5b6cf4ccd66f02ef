import LLVSCore

/// Receives the changes of one version, in order.
protocol ChangeSink {
  /// Calls its argument with the bytes of a value, piece by piece.
  typealias Pieces = (
    _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) -> Void

  /// The entry is that of the version's map; `data` reads the bytes of its value.
  mutating func insert(_ key: Key, _ entry: Entry, data: Pieces) throws(StoreError)
  mutating func update(_ key: Key, _ entry: Entry, data: Pieces) throws(StoreError)
  mutating func remove(_ key: Key) throws(StoreError)
  mutating func preserve(_ key: Key, storedIn stored: Version.ID) throws(StoreError)
  mutating func preserveRemoval(_ key: Key) throws(StoreError)
}

// In this format the bytes tell the length of a value.
extension ChangeWriter: ChangeSink {
  mutating func insert(_ key: Key, _ entry: Entry, data: Pieces) throws(StoreError) {
    try expect(entry.stored.length)
    try insert(key, data: data)
  }

  mutating func update(_ key: Key, _ entry: Entry, data: Pieces) throws(StoreError) {
    try expect(entry.stored.length)
    try update(key, data: data)
  }
}
