import LLVSCore

/// Takes the changes of one version in the order in which they are to be read.
protocol ChangeSink {
  /// Calls its argument with the bytes of a value, piece by piece.
  typealias Pieces = (
    _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) -> Void

  mutating func insert(_ key: Key, length: UInt64, data: Pieces) throws(StoreError)
  mutating func update(_ key: Key, length: UInt64, data: Pieces) throws(StoreError)
  mutating func remove(_ key: Key) throws(StoreError)
  mutating func preserve(_ key: Key, storedIn stored: Version.ID) throws(StoreError)
  mutating func preserveRemoval(_ key: Key) throws(StoreError)
}

// The length of a value follows from its bytes there.
extension ChangeWriter: ChangeSink {
  mutating func insert(_ key: Key, length: UInt64, data: Pieces) throws(StoreError) {
    try expect(length)
    try insert(key, data: data)
  }

  mutating func update(_ key: Key, length: UInt64, data: Pieces) throws(StoreError) {
    try expect(length)
    try update(key, data: data)
  }
}
