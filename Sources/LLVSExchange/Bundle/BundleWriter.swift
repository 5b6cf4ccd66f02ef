import LLVSCore

/// Writes one bundle: items as they come, then versions, predecessors first.
/// Items are written at once; the outline follows at the end. A version's items must be added before it.
/// - Concurrency: for one thread at a time.
final class BundleWriter {
  typealias Sink = (UnsafeRawBufferPointer) throws(StoreError) -> Void
  /// Frames are never read in part, so a higher level than for chunks pays.
  private static let level: Int32 = 3
  private let sink: Sink
  private let scratch: String
  private let seal: BundleSeal?
  private let compression = Compression()
  private var hasher = SHA256Hasher()
  private var directory: BundleDirectory
  private(set) var length: UInt64 = 0
  private var frame: [UInt8] = []
  private var frameItems = 0
  private var items: [BundleItem: Int] = [:]
  private(set) var order: [HeldItem] = []
  private var table: Spool
  private let outline: Spool
  private var needs: [BundleNeed: Int] = [:]
  private var positions: [Version.ID: Int] = [:]

  init(
    writer: String, sequence: UInt64, scratch: String, seal: BundleSeal? = nil,
    sink: @escaping Sink
  ) throws(StoreError) {
    precondition(BundleName.isWriter(writer), "a bundle has a writer's name")
    self.sink = sink
    self.scratch = scratch
    self.seal = seal
    directory = BundleDirectory(writer: writer, sequence: sequence)
    table = Spool(directory: scratch, memoryLimit: 4 << 20)
    outline = Spool(directory: scratch, memoryLimit: 16 << 20)
    try emit(BundleFormat.head(isSealed: seal != nil))
  }

  var isEmpty: Bool { items.isEmpty && directory.entries == 0 }

  /// Returns true if the bundle has about `goal` bytes, or as many parts as a bundle may have.
  func isFull(goal: UInt64) -> Bool {
    length + UInt64(frame.count) + outline.length >= goal
      || items.count + Self.mostAtOnce > BundleFormat.maximumItems
      || directory.entries >= BundleFormat.maximumEntries
      // Room for the frame that is open, too.
      || directory.content.count + 1 + Self.mostAtOnce > BundleFormat.maximumContentFrames
  }

  /// A chunk and its bases.
  private static let mostAtOnce = 1 + BundleFormat.mostBases

  func number(of item: BundleItem) -> Int? { items[item] }

  /// Returns true if the bundle has an item, and not as a patch.
  func isWhole(_ item: BundleItem) -> Bool { items[item].map { !order[$0].isPatch } ?? false }

  /// Adds an item that is not in the bundle yet, and returns its number.
  /// It becomes a patch of `bases` if that is short; these are whole in this bundle or in one that it needs.
  /// - Throws: ``StoreError/corrupt(_:)`` if the bytes are not those of the item.
  @discardableResult
  func add(
    _ item: BundleItem, _ bytes: [UInt8], after bases: [BundleBase] = []
  ) throws(StoreError) -> Int {
    precondition(items[item] == nil, "a bundle holds an item once")
    guard !bytes.isEmpty, bytes.withUnsafeBytes({ item.isProved(by: $0) }) else {
      throw .corrupt("bytes of a value are not those of its digest \(item.digest.hex)")
    }
    guard items.count < BundleFormat.maximumItems else {
      throw .invalid("a bundle of more than \(BundleFormat.maximumItems) items")
    }
    let patch = patch(item, bytes, of: bases)
    if let patch {
      try closeFrame()
      try writeFrame(patch, unpacked: bytes.count, items: 1)
    } else if bytes.count >= BundleFormat.aloneLength {
      try closeFrame()
      try writeFrame(bytes, items: 1)
    } else {
      if frame.count + bytes.count > BundleFormat.sharedFrameLength { try closeFrame() }
      frame += bytes
      frameItems += 1
    }
    var entry = [item.kind.rawValue | (patch == nil ? 0 : BundleFormat.patchFlag)]
    entry.append(item.digest)
    entry.append(varint: UInt64(bytes.count))
    if patch != nil {
      entry.append(UInt8(bases.count))
      for base in bases { entry.append(base.digest) }
    }
    try entry.withPiece { (piece) throws(StoreError) in try table.append(piece) }
    items[item] = order.count
    order.append(HeldItem(item: item, isPatch: patch != nil))
    return order.count - 1
  }

  /// Returns the frame of a chunk that only its bases unpack; nil if it is not much shorter than the chunk.
  private func patch(_ item: BundleItem, _ bytes: [UInt8], of bases: [BundleBase]) -> [UInt8]? {
    let prefix = bases.flatMap(\.bytes)
    guard item.kind == .chunk, bytes.count >= BundleFormat.shortestPatched,
      (1...BundleFormat.mostBases).contains(bases.count), prefix.count <= BundleFormat.longestBases
    else { return nil }
    return bytes.withUnsafeBytes { compression.delta($0, from: prefix, capacity: $0.count / 4) }
  }

  private func closeFrame() throws(StoreError) {
    guard frameItems > 0 else { return }
    try writeFrame(frame, items: frameItems)
    frame.removeAll(keepingCapacity: true)
    frameItems = 0
  }

  private func writeFrame(_ bytes: [UInt8], items: Int) throws(StoreError) {
    guard directory.content.count < BundleFormat.maximumContentFrames else {
      throw .invalid("a bundle of more than \(BundleFormat.maximumContentFrames) frames")
    }
    try writeFrame(packed(bytes), unpacked: bytes.count, items: items)
  }

  private func writeFrame(
    _ packed: [UInt8], unpacked: Int, items: Int
  ) throws(StoreError) {
    let standing = sealed(packed, .content, directory.content.count)
    try emit(standing)
    directory.content.append(.init(stands: standing.count, unpacked: unpacked, items: items))
  }

  /// Returns the number of a bundle among those that this one needs; nil if there is no room for it.
  func number(ofNeed need: BundleNeed) -> Int? {
    if let known = needs[need] { return known }
    guard needs.count < BundleFormat.maximumNeeds else { return nil }
    needs[need] = needs.count
    directory.needs.append(need)
    return needs.count - 1
  }

  /// Adds a version with its changes, and its map's content digest where its metadata has none.
  /// - Throws: ``StoreError/invalid(_:)`` if the bundle holds the version or it cannot be written.
  func add(_ version: Version, contentDigest: Digest?, changes: Spool) throws(StoreError) {
    let index = positions.count
    guard positions.updateValue(index, forKey: version.id) == nil else {
      throw .invalid("a bundle holds a version once")
    }
    var head: [UInt8] = [BundleFormat.EntryType.version.rawValue]
    try head.append(bundled: version.id)
    head.append(contentDigest == nil ? 0 : BundleFormat.digestFlag)
    try head.append(bundled: version) { id in positions[id].map { index - $0 } }
    if let contentDigest { head.append(contentDigest) }
    var length: [UInt8] = []
    length.append(varint: UInt64(head.count) + changes.length)
    try (length + head).withPiece { (piece) throws(StoreError) in try outline.append(piece) }
    try changes.forEachPiece { (piece) throws(StoreError) in try outline.append(piece) }
    directory.entries += 1
  }

  /// Adds an entry of another type, unread.
  func add(entry bytes: [UInt8]) throws(StoreError) {
    var length: [UInt8] = []
    length.append(varint: UInt64(bytes.count))
    try (length + bytes).withPiece { (piece) throws(StoreError) in try outline.append(piece) }
    directory.entries += 1
  }

  /// Ends the bundle and returns the length and hash that are in its name, and its directory.
  func finish(
    stays: [BundleClaim], from: SequenceRuns = SequenceRuns(), filled: [BundleNeed] = []
  ) throws(StoreError) -> (length: UInt64, hash: Digest, directory: BundleDirectory) {
    try closeFrame()
    directory.outline = try writeHashed(outline, .outline)
    directory.table = try writeHashed(table, .table)
    directory.stays = stays
    directory.from = from
    directory.filled = filled
    let bytes = directory.encoded()
    guard bytes.count <= BundleFormat.maximumDirectory else {
      throw .invalid("a directory of more than \(BundleFormat.maximumDirectory) bytes")
    }
    let standing = sealed(packed(bytes), .directory, 0)
    try emit(standing)
    var tail: [UInt8] = []
    if let seal { tail += seal.keyID + seal.salt }
    tail.append(bigEndian: UInt32(standing.count))
    tail.append(bigEndian: UInt32(bytes.count))
    tail.append(Digest.of(standing))
    tail += BundleFormat.tailMagic(isSealed: seal != nil)
    try emit(tail)
    return (length, hasher.finish(), directory)
  }

  private func writeHashed(
    _ spool: Spool, _ kind: BundleFormat.FrameKind
  ) throws(StoreError) -> [BundleDirectory.HashedFrame] {
    var frames: [BundleDirectory.HashedFrame] = []
    try spool.forEachPiece(of: BundleFormat.frameLength) { (piece) throws(StoreError) in
      guard frames.count < BundleFormat.maximumOtherFrames else {
        throw .invalid("a bundle of more than \(BundleFormat.maximumOtherFrames) frames")
      }
      let standing = sealed(packed(Array(piece)), kind, frames.count)
      try emit(standing)
      frames.append(
        .init(stands: standing.count, unpacked: piece.count, hash: Digest.of(standing)))
    }
    return frames
  }

  /// Returns bytes packed if that saves any.
  private func packed(_ bytes: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { raw in
      compression.frame(of: raw, level: BundleWriter.level, capacity: max(0, raw.count - 1))
    } ?? bytes
  }

  /// Returns packed bytes, encrypted if the bundle is.
  private func sealed(
    _ packed: [UInt8], _ kind: BundleFormat.FrameKind, _ number: Int
  ) -> [UInt8] { seal.map { $0.sealed(packed, kind, number) } ?? packed }

  private func emit(_ bytes: [UInt8]) throws(StoreError) {
    guard !bytes.isEmpty else { return }
    hasher.update(bytes)
    length += UInt64(bytes.count)
    try bytes.withPiece(sink)
  }
}

extension Spool {
  /// Empties the spool into the body, in pieces of a length except the last.
  func forEachPiece(
    of length: Int = 1 << 18, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let (bytes, file, total) = try drain()
    let source = file.map { FileSource($0, length: total) }
    var offset: UInt64 = 0
    while offset < total {
      let count = Int(min(total - offset, UInt64(length)))
      if let source {
        var part = [UInt8](repeating: 0, count: count)
        try part.withUnsafeMutableBufferPointer { (part) throws(StoreError) in
          try source.read(at: offset, into: UnsafeMutableRawBufferPointer(part))
        }
        try part.withPiece(body)
      } else {
        try bytes.withPiece { (raw) throws(StoreError) in try body(raw.part(Int(offset), count)) }
      }
      offset += UInt64(count)
    }
  }
}
