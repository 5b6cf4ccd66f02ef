/// A piece of a value, as stores send it to each other: a chunk, or a node of a long value's tree.
package struct ValuePart {
  package enum Kind: Hashable, Sendable {
    /// Bytes of the value, under their SHA-256.
    case chunk
    /// A node of a long value below its top, under its node digest.
    case node
    /// The top node of a long value, under the value digest.
    case top
  }

  /// The kind, which belongs to the name: digests of two kinds may be equal.
  package let kind: Kind
  package let digest: Digest
  private let read: () throws(StoreError) -> [UInt8]
  private let readBases: () throws(StoreError) -> [[UInt8]]

  fileprivate init(
    _ kind: Kind, _ digest: Digest, _ read: @escaping () throws(StoreError) -> [UInt8],
    bases: @escaping () throws(StoreError) -> [[UInt8]] = { [] }
  ) {
    self.kind = kind
    self.digest = digest
    self.read = read
    readBases = bases
  }

  /// Reads the bytes: those of the chunk, or the node's level and items as they are hashed.
  package func bytes() throws(StoreError) -> [UInt8] { try read() }

  /// Reads the chunks that this chunk is stored as a patch of; none for a whole chunk and for a node.
  package func bases() throws(StoreError) -> [[UInt8]] { try readBases() }
}

extension ContentStore {
  /// Calls the body with every piece of a value, once for each occurrence; never for an inline value. `zeros` is
  /// called with the length of each run of zeros between chunks.
  package func forEachPart(
    of stored: StoredContent, zeros: (UInt64) throws(StoreError) -> Void = { _ in },
    _ body: (ValuePart) throws(StoreError) -> Void
  ) throws(StoreError) {
    switch stored.content {
    case .none, .inline: if stored.isAbsent { throw .absent(stored) }
    case .chunk(let location):
      try body(part(stored.digest, at: location, length: stored.length))
    case .tree(let location):
      let top = try node(location, stored.digest)
      guard top.length == stored.length else {
        throw records.damage(location, "is a tree of \(top.length) bytes, not \(stored.length)")
      }
      try body(ValuePart(.top, stored.digest) { top.form })
      try forEachPart(below: top, zeros, body)
    }
  }

  private func part(_ digest: Digest, at location: Location, length: UInt64) -> ValuePart {
    ValuePart(.chunk, digest) { () throws(StoreError) in
      let bytes = try self.chunk(location, digest)
      guard UInt64(bytes.count) == length else {
        throw .corrupt("a chunk has \(bytes.count) bytes where \(length) were stored")
      }
      return bytes
    } bases: { () throws(StoreError) in
      try self.records.bases(ofRecordAt: location, .chunk).map { (place) throws(StoreError) in
        try self.chunk(place)
      }
    }
  }

  private func forEachPart(
    below node: ValueNode, _ zeros: (UInt64) throws(StoreError) -> Void,
    _ body: (ValuePart) throws(StoreError) -> Void
  ) throws(StoreError) {
    for (index, item) in node.items.enumerated() {
      guard let digest = item.digest, let location = item.location else {
        try zeros(item.length)
        continue
      }
      switch item.kind {
      case .zeros: break
      case .chunk: try body(part(digest, at: location, length: item.length))
      case .node:
        let child = try self.child(of: node, at: index)
        try body(ValuePart(.node, digest) { child.form })
        try forEachPart(below: child, zeros, body)
      }
    }
  }

  /// Returns the bytes of a chunk with this SHA-256; nil if none is known, and for short chunks.
  package func bytes(ofChunk digest: Digest) -> [UInt8]? {
    guard let location = found(digest) else { return nil }
    // The index may be stale or a record damaged; then the chunk is unknown.
    guard let bytes = try? records.read(.chunk, at: location), Digest.of(bytes) == digest else {
      return nil
    }
    return bytes
  }
}
