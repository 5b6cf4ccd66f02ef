internal import Platform
internal import Synchronization

/// The bytes of values: cut, hashed and stored once when written, verified and cached when read.
/// - Concurrency: reading from any thread; writing inside a write transaction.
package final class ContentStore: Sendable {
  /// Shorter values are not looked up among the chunks: finding one costs more than it saves.
  static let sharedFrom = 1024
  let records: RecordStore
  let index: Index
  private let nodes = GenerationCache<Location, ValueNode>(budget: 16 << 20)
  private let chunks = GenerationCache<Location, [UInt8]>(budget: 64 << 20)
  /// True if damaged records may be rewritten.
  let repairs: Bool
  /// The locations of damaged bytes that were found, by their digests; a leaf lock.
  let unreadable = Mutex<[Digest: Location]>([:])

  init(records: RecordStore, index: Index, repairs: Bool) {
    self.records = records
    self.index = index
    self.repairs = repairs
  }

  /// Empties the caches of bytes, and gives memory back to the system.
  package func releaseMemory() {
    nodes.removeAll()
    chunks.removeAll()
    records.bases.bytes.removeAll()
    records.patchBases.removeAll()
    SystemMemory.trim()
  }

  /// Reads bytes of a value and returns how many; fewer than the buffer holds only at the value's end.
  package func read(
    _ stored: StoredContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) -> Int {
    guard offset < stored.length, !buffer.isEmpty else { return 0 }
    let count = Int(min(UInt64(buffer.count), stored.length - offset))
    let out = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    switch stored.content {
    case .none: throw .absent(stored)
    case .inline(let bytes): try copy(bytes, from: offset, to: out, length: stored.length)
    case .chunk(let location):
      try copy(chunk(location, stored.digest), from: offset, to: out, length: stored.length)
    case .tree(let location): try readTree(location, stored, at: offset, into: out)
    }
    return count
  }

  /// Returns all bytes of a value up to a length.
  package func bytes(_ stored: StoredContent, atMost bound: UInt64 = 1 << 30) throws(StoreError)
    -> [UInt8]
  {
    guard stored.length <= bound else {
      throw .invalid("a value of \(stored.length) bytes is over the bound of \(bound)")
    }
    if case .chunk(let location) = stored.content {
      let bytes = try chunk(location, stored.digest)
      try check(bytes, length: stored.length)
      return bytes
    }
    return try bytes(stored, from: 0, count: Int(stored.length))
  }

  /// Returns bytes of a value; fewer than `count` only at the value's end.
  package func bytes(
    _ stored: StoredContent, from offset: UInt64, count: Int
  ) throws(StoreError) -> [UInt8] {
    let rest = stored.length - min(offset, stored.length)
    return try [UInt8](count: Int(min(UInt64(count), rest))) { (out) throws(StoreError) in
      try read(stored, at: offset, into: out)
    }
  }

  /// Returns the target of a symbolic link, at most 4,095 bytes, the greatest length (symlink(2)).
  package func linkTarget(_ stored: StoredContent) throws(StoreError) -> [UInt8] {
    try bytes(stored, from: 0, count: 4095)
  }

  private func copy(
    _ bytes: [UInt8], from offset: UInt64, to out: UnsafeMutableRawBufferPointer, length: UInt64
  ) throws(StoreError) {
    try check(bytes, length: length)
    bytes.withUnsafeBytes { raw in
      let start = Int(offset)
      out.copyMemory(from: UnsafeRawBufferPointer(rebasing: raw[start..<(start + out.count)]))
    }
  }

  private func check(_ chunk: [UInt8], length: UInt64) throws(StoreError) {
    guard UInt64(chunk.count) == length else {
      throw .corrupt("a chunk has \(chunk.count) bytes instead of \(length)")
    }
  }

  private func readTree(
    _ root: Location, _ stored: StoredContent, at start: UInt64,
    into out: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    let top = try node(root, stored.digest)
    guard top.length == stored.length else {
      throw records.damage(root, "is a tree of \(top.length) bytes, not \(stored.length)")
    }
    var done = 0
    while done < out.count {
      var node = top
      var offset = start + UInt64(done)
      var index = node.index(of: offset)
      while node.items[index].kind == .node {
        offset -= node.starts[index]
        node = try child(of: node, at: index)
        index = node.index(of: offset)
      }
      // Neighbours in the same node are read without another descent.
      while done < out.count, index < node.items.count {
        let item = node.items[index]
        let inside = offset - node.starts[index]
        let count = Int(min(UInt64(out.count - done), item.length - inside))
        let part = UnsafeMutableRawBufferPointer(rebasing: out[done..<(done + count)])
        if let location = item.location, let digest = item.digest {
          let bytes = try chunk(location, digest)
          try copy(bytes, from: inside, to: part, length: item.length)
        } else {
          part.initializeMemory(as: UInt8.self, repeating: 0)
        }
        done += count
        offset += UInt64(count)
        index += 1
      }
    }
  }

  /// Returns a node of a value's tree. Storing the same bytes again repairs a damaged one.
  func node(_ location: Location, _ digest: Digest? = nil) throws(StoreError) -> ValueNode {
    do throws(StoreError) {
      return try self.known(location)
    } catch {
      if let digest, error.isDamage { remember(unreadable: digest, at: location) }
      throw error
    }
  }

  func remembered(_ location: Location) -> ValueNode? { nodes.value(location) }

  private func known(_ location: Location) throws(StoreError) -> ValueNode {
    if let known = nodes.value(location) { return known }
    guard let node = ValueNode(bytes: try records.read(.valueNode, at: location)) else {
      throw records.damage(location, "is not a node of a value")
    }
    nodes.insert(location, node, cost: node.cost)
    return node
  }

  func child(of node: ValueNode, at index: Int) throws(StoreError) -> ValueNode {
    let item = node.items[index]
    guard let location = item.location else {
      throw .corrupt("a value's tree has a node without a place")
    }
    let child = try self.node(location, item.digest)
    guard child.level + 1 == node.level, child.length == item.length else {
      throw records.damage(location, "is another node than its parent says")
    }
    return child
  }

  func chunk(_ location: Location) throws(StoreError) -> [UInt8] {
    if let known = chunks.value(location) { return known }
    let bytes = try records.read(.chunk, at: location)
    chunks.insert(location, bytes, cost: bytes.count + 64)
    return bytes
  }

  /// Reads values into memory ahead of their use, if they are short and near each other.
  func readAhead(_ values: some Sequence<StoredContent>) {
    let places = values.compactMap { stored -> Location? in
      guard case .chunk(let location) = stored.content, chunks.value(location) == nil else {
        return nil
      }
      return location
    }
    records.readAhead(.chunk, at: places) { location, bytes in
      chunks.insert(location, bytes, cost: bytes.count + 64)
    }
  }

  /// Stores a value. `prior` is the value that was at the key before, which new parts may be stored against. The base
  /// of a file that a program keeps open may be much older.
  package func write(
    _ source: some ContentSource, after prior: StoredContent? = nil,
    in transaction: any ChunkTransaction
  ) throws(StoreError) -> StoredContent {
    guard source.length <= UInt64(ValueChunking.singleChunk) else {
      var writer = try ContentWriter(
        source: source, prior: prior ?? source.base, store: self, transaction: transaction)
      let stored = try writer.run()
      try repairNodes(of: stored)
      return stored
    }
    let bytes = try bytes(of: source)
    return try write(
      ReadyValue(bytes: bytes, digest: Digest.of(bytes), chunk: nil), after: prior ?? source.base,
      in: transaction)
  }

  private func bytes(of source: some ContentSource) throws(StoreError) -> [UInt8] {
    let length = Int(source.length)
    guard length > 0 else { return [] }
    return try [UInt8](count: length) { (out) throws(StoreError) in
      try source.read(at: 0, into: out)
      return length
    }
  }

  /// Hashes and compresses a value of at most 65,536 bytes outside of a transaction.
  package func ready(_ bytes: [UInt8]) -> ReadyValue {
    let isChunk = bytes.count > Entry.inlineLimit && bytes.count <= ValueChunking.singleChunk
    return ReadyValue(
      bytes: bytes, digest: Digest.of(bytes),
      chunk: isChunk ? bytes.withUnsafeBytes { records.packed(.chunk, $0) } : nil)
  }

  /// Runs a closure that prepares or stores thousands of values, with faster look-ups of equal bytes.
  package func handlingMany<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result { try index.readers.keepingTransactions(body) }

  /// Reads, hashes and compresses a value of at most 65,536 bytes, and searches the store for the same bytes; nil
  /// for a longer value, which is cut and stored piece by piece.
  package func prepare(_ source: some ContentSource) throws(StoreError) -> ReadyValue? {
    guard source.length <= UInt64(ValueChunking.singleChunk) else { return nil }
    let bytes = try bytes(of: source)
    let digest = Digest.of(bytes)
    return bytes.withUnsafeBytes { raw in
      let known = storedChunk(raw, digest)
      let isPacked = known == nil && bytes.count > Entry.inlineLimit
      return ReadyValue(
        bytes: bytes, digest: digest, chunk: isPacked ? records.packed(.chunk, raw) : nil,
        known: known, isLookedUp: true)
    }
  }

  package func write(
    _ value: ReadyValue, after prior: StoredContent? = nil, in transaction: any ChunkTransaction
  ) throws(StoreError) -> StoredContent {
    let (bytes, digest) = (value.bytes, value.digest)
    guard bytes.count <= ValueChunking.singleChunk else {
      return try write(BytesSource(bytes), after: prior, in: transaction)
    }
    if let stored = ContentStore.inlined(bytes, digest) { return stored }
    let location = try bytes.withPiece { (raw) throws(StoreError) -> Location in
      // The bytes that were found may have been forgotten since (S13).
      if let known = value.known, records.gone?.mayUse(known) ?? true { return known }
      if let known = newChunk(raw, digest, in: transaction) { return known }
      if !value.isLookedUp, let known = storedChunk(raw, digest) { return known }
      let places = prior.map { chunks(of: $0, in: 0..<UInt64(raw.count)) } ?? []
      return try append(raw, digest, packed: value.chunk, after: places, in: transaction)
    }
    return StoredContent(length: UInt64(bytes.count), digest: digest, content: .chunk(location))
  }

  /// Returns the content of a value that fits into the map itself; nil for a longer one.
  static func inlined(_ bytes: [UInt8], _ digest: Digest) -> StoredContent? {
    guard bytes.count <= Entry.inlineLimit else { return nil }
    return StoredContent(
      length: UInt64(bytes.count), digest: digest, content: bytes.isEmpty ? .none : .inline(bytes))
  }

  /// Stores a chunk, or returns the location of the same bytes.
  func writeChunk(
    _ bytes: UnsafeRawBufferPointer, _ digest: Digest, after prior: StoredContent?,
    at offset: UInt64, in transaction: any ChunkTransaction
  ) throws(StoreError) -> Location {
    if let known = newChunk(bytes, digest, in: transaction) ?? storedChunk(bytes, digest) {
      return known
    }
    let places = prior.map { chunks(of: $0, in: offset..<(offset + UInt64(bytes.count))) } ?? []
    return try append(bytes, digest, packed: nil, after: places, in: transaction)
  }

  /// Appends a chunk, as a patch of chunks at `places` if that is short.
  private func append(
    _ bytes: UnsafeRawBufferPointer, _ digest: Digest, packed: PackedRecord?,
    after places: [Location], in transaction: any ChunkTransaction
  ) throws(StoreError) -> Location {
    if let repaired = repaired(.chunk, bytes, digest) { return repaired }
    let location = try records.append(.chunk, bytes, packed: packed, after: places)
    if bytes.count >= ContentStore.sharedFrom { transaction.remember(chunk: digest, at: location) }
    return location
  }

  private func newChunk(
    _ bytes: UnsafeRawBufferPointer, _ digest: Digest, in transaction: any ChunkTransaction
  ) -> Location? {
    guard bytes.count >= ContentStore.sharedFrom else { return nil }
    return transaction.newChunk(digest).flatMap { holds($0, bytes, digest) ? $0 : nil }
  }

  private func storedChunk(_ bytes: UnsafeRawBufferPointer, _ digest: Digest) -> Location? {
    guard bytes.count >= ContentStore.sharedFrom else { return nil }
    return found(digest).flatMap { holds($0, bytes, digest) ? $0 : nil }
  }

  /// Returns the place that the index has for a chunk, unless the place is gone.
  func found(_ digest: Digest) -> Location? {
    index.chunk(digest).flatMap { records.gone?.mayUse($0) ?? true ? $0 : nil }
  }

  /// Returns true if the record holds these bytes: the index may be stale or damaged.
  private func holds(
    _ location: Location, _ bytes: UnsafeRawBufferPointer, _ digest: Digest
  ) -> Bool {
    do throws(StoreError) {
      return try records.read(.chunk, at: location).withUnsafeBytes { $0.compare(to: bytes) == 0 }
    } catch {
      if error.isDamage { remember(unreadable: digest, at: location) }
      return false
    }
  }

  /// Packs metadata: up to 4,096 bytes into the version's row; longer metadata is stored as a value.
  func pack(
    _ metadata: Version.Metadata, in transaction: any ChunkTransaction
  ) throws(StoreError) -> [UInt8] {
    let bytes = Version.encode(metadata)
    if bytes.count <= 4096 { return [0] + bytes }
    var packed: [UInt8] = [1]
    packed.append(try write(BytesSource(bytes), in: transaction))
    return packed
  }

  func unpack(_ packed: [UInt8]) throws(StoreError) -> Version.Metadata {
    let metadata: Version.Metadata?
    switch packed.first {
    case 0: metadata = Version.decodeMetadata(Array(packed.dropFirst()))
    case 1:
      guard let stored = Array(packed.dropFirst()).parsed({ $0.storedContent() }) else {
        throw .corrupt("a version's metadata has no readable place")
      }
      metadata = Version.decodeMetadata(try bytes(stored))
    default: metadata = nil
    }
    guard let metadata else { throw .corrupt("a version's metadata cannot be read") }
    return metadata
  }
}

/// A value of at most one chunk that is about to be stored.
package struct ReadyValue: Sendable {
  package let bytes: [UInt8]
  let digest: Digest
  let chunk: PackedRecord?
  var known: Location?
  var isLookedUp = false
}
