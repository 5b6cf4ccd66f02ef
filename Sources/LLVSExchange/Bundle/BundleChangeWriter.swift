import LLVSCore

/// Writes the changes of a version in the form of a bundle; equal changes give equal bytes.
struct BundleChangeWriter: ChangeSink {
  private let append: (UnsafeRawBufferPointer) throws(StoreError) -> Void

  /// Creates a writer that passes the bytes to a closure, piece by piece.
  init(_ append: @escaping (UnsafeRawBufferPointer) throws(StoreError) -> Void) {
    self.append = append
  }

  func insert(_ key: Key, _ entry: Entry, data: Pieces) throws(StoreError) {
    try write(.insert, key, entry.stored.length, data)
  }

  func update(_ key: Key, _ entry: Entry, data: Pieces) throws(StoreError) {
    try write(.update, key, entry.stored.length, data)
  }

  func remove(_ key: Key) throws(StoreError) {
    try start(.remove, key).withPiece(append)
  }

  func preserve(_ key: Key, storedIn stored: Version.ID) throws(StoreError) {
    var bytes = try start(.preserve, key)
    try bytes.append(bundled: stored)
    try bytes.withPiece(append)
  }

  func preserveRemoval(_ key: Key) throws(StoreError) {
    try start(.preserveRemoval, key).withPiece(append)
  }

  private func write(
    _ tag: BundleFormat.Tag, _ key: Key, _ length: UInt64, _ data: Pieces
  ) throws(StoreError) {
    var bytes = try start(tag, key)
    bytes.append(varint: length)
    try bytes.withPiece(append)
    var rest = length
    try data { (piece) throws(StoreError) in
      guard UInt64(piece.count) <= rest else {
        throw .corrupt("a value of \(length) bytes has more")
      }
      rest -= UInt64(piece.count)
      try append(piece)
    }
    guard rest == 0 else { throw .corrupt("a value of \(length) bytes has fewer") }
  }

  private func start(_ tag: BundleFormat.Tag, _ key: Key) throws(StoreError) -> [UInt8] {
    // The original's format cannot hold other keys, and both formats must carry the same versions.
    guard key.bytes.count <= ExchangeLimits.keyLength else {
      throw .invalid("a key of more than \(ExchangeLimits.keyLength) bytes cannot be exchanged")
    }
    guard String(validating: key.bytes, as: UTF8.self) != nil else {
      throw .invalid("a key that is not UTF-8 cannot be exchanged")
    }
    var bytes: [UInt8] = [tag.rawValue]
    bytes.append(counted: key.bytes)
    return bytes
  }
}
