import LLVSCore

/// Receives the changes of one version, in order.
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

// In this format the bytes tell the length of a value.
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
