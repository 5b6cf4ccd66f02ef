/// Cuts one long value into chunks and runs of zeros and builds its tree. It reads each byte once, and no byte
/// known to be shared with the base.
///
/// A chunk of the base is reused if it begins where a chunk begins here, and its bytes and the 65,536 after it are
/// unchanged or both values end there, because then the cut is the same. A whole node is reused in the same way if
/// every node below its level is closed here.
struct ContentWriter<Source: ContentSource> {
  private let source: Source
  private let store: ContentStore
  private let transaction: any ChunkTransaction
  private let length: UInt64
  private let base: (stored: StoredContent, top: ValueNode)?
  /// The value that new parts may be stored against.
  private let prior: StoredContent?
  private var builder: ValueTreeBuilder

  /// Bytes `[windowStart, windowStart + filled)` of the value.
  private var window: [UInt8]
  private var windowStart: UInt64 = 0
  private var filled = 0
  /// The bytes from here on have not been searched for zeros.
  private var scanned: UInt64 = 0
  /// The beginning of the run of zeros that ends at `scanned`.
  private var zeroStart: UInt64 = 0

  /// The bytes that determine a cut: a longest chunk, and a run of zeros that begins at its last byte.
  private static var lookahead: Int { ValueChunking.maximum + ValueChunking.zeroRun }

  init(
    source: Source, prior: StoredContent?, store: ContentStore, transaction: any ChunkTransaction
  ) throws(StoreError) {
    self.source = source
    self.prior = prior
    self.store = store
    self.transaction = transaction
    length = source.length
    builder = ValueTreeBuilder(store: store, prior: prior)
    window = [UInt8](repeating: 0, count: 1 << 20)
    var base: (StoredContent, ValueNode)?
    if let stored = source.base, case .tree(let location) = stored.content {
      do throws(StoreError) {
        base = (stored, try store.node(location, stored.digest))
      } catch {
        // Only callers that need the base's bytes get the error.
        guard error.isDamage else { throw error }
      }
    }
    self.base = base
  }

  mutating func run() throws(StoreError) -> StoredContent {
    var position: UInt64 = 0
    while position < length {
      if let reused = try takeOver(at: position) {
        position += reused
        continue
      }
      position += try cutOne(at: position)
    }
    guard let stored = try builder.finish(), stored.length == length else {
      throw .invalid("a value changed its length while it was stored")
    }
    return stored
  }

  /// Adds the largest part of the base that begins here and certainly ends at the same place.
  private mutating func takeOver(at position: UInt64) throws(StoreError) -> UInt64? {
    guard let base, position < base.stored.length,
      case .unchanged(let given) = try source.extent(at: position)
    else { return nil }
    let unchanged = try unchangedEnd(from: position, given)
    guard unchanged > position else { return nil }
    var node = base.top
    var start: UInt64 = 0
    let topEnd = base.stored.length
    if position == 0, case .tree(let location) = base.stored.content,
      isSettled(end: topEnd, unchanged, base.stored.length),
      builder.mayAdd(level: Int(node.level) + 1)
    {
      try builder.add(
        ValueNode.Item(
          kind: .node, length: topEnd, digest: node.digest, location: location,
          zerosBelow: node.zeros),
        level: Int(node.level) + 1)
      return topEnd
    }
    while true {
      let index = node.index(of: position - start)
      let item = node.items[index]
      let itemStart = start + node.starts[index]
      let level = Int(node.level)
      if itemStart == position, item.kind != .zeros, builder.mayAdd(level: level),
        isSettled(end: itemStart + item.length, unchanged, base.stored.length)
      {
        try builder.add(store.withKnownZeros(item), level: level)
        return item.length
      }
      guard item.kind == .node else { return nil }
      node = try store.child(of: node, at: index)
      start = itemStart
    }
  }

  private func unchangedEnd(from position: UInt64, _ given: UInt64) throws(StoreError) -> UInt64 {
    var end = min(given, length)
    while end < length, case .unchanged(let next) = try source.extent(at: end), next > end {
      end = min(next, length)
    }
    return end
  }

  private func isSettled(end: UInt64, _ unchanged: UInt64, _ baseLength: UInt64) -> Bool {
    if end + UInt64(ValueChunking.zeroRun) <= min(unchanged, baseLength) { return true }
    return unchanged >= baseLength && length == baseLength
  }

  private mutating func cutOne(at position: UInt64) throws(StoreError) -> UInt64 {
    let end = try dataEnd(from: position)
    if end == position {
      let zeros = try zeroEnd(from: position)
      try builder.add(
        ValueNode.Item(kind: .zeros, length: zeros - position, digest: nil, location: nil))
      scanned = zeros
      zeroStart = zeros
      return zeros - position
    }
    let from = Int(position - windowStart)
    let most = Int(end - position)
    let item = try window.withPiece { (raw) throws(StoreError) -> ValueNode.Item in
      let data = UnsafeRawBufferPointer(rebasing: raw[from..<(from + most)])
      let count = ValueChunking.cut(data)
      let bytes = UnsafeRawBufferPointer(rebasing: data[..<count])
      let digest = Digest.of(bytes)
      let location = try store.writeChunk(
        bytes, digest, after: prior, at: position, in: transaction)
      return ValueNode.Item(
        kind: .chunk, length: UInt64(count), digest: digest, location: location)
    }
    try builder.add(item)
    return item.length
  }

  /// Returns where the data that begins here ends for a cut: at a run of at least 65,536 zeros, at the value's end,
  /// or after a longest chunk; `position` itself if a run of zeros begins here.
  private mutating func dataEnd(from position: UInt64) throws(StoreError) -> UInt64 {
    try fill(from: position)
    if scanned < position {
      scanned = position
      zeroStart = position
    }
    let available = windowStart + UInt64(filled)
    let limit = min(available, position + UInt64(ContentWriter.lookahead))
    // A run that was found earlier may begin before this position.
    while true {
      if scanned - max(zeroStart, position) >= UInt64(ValueChunking.zeroRun) {
        return min(max(zeroStart, position), position + UInt64(ValueChunking.maximum))
      }
      guard scanned < limit else { break }
      scan(to: limit)
    }
    return min(limit, position + UInt64(ValueChunking.maximum))
  }

  /// Searches the next block for zeros.
  private mutating func scan(to limit: UInt64) {
    let from = Int(scanned - windowStart)
    let count = Int(min(limit - scanned, 4096))
    window.withUnsafeBytes { raw in
      let block = UnsafeRawBufferPointer(rebasing: raw[from..<(from + count)])
      let trailing = ValueChunking.trailingZeros(block)
      if trailing == count {
        scanned += UInt64(count)
        return
      }
      // A run that ends inside this block counts only if it is long enough; then it is returned first.
      let leading = ValueChunking.leadingZeros(block)
      let run = scanned + UInt64(leading) - zeroStart
      if run >= UInt64(ValueChunking.zeroRun) {
        scanned += UInt64(leading)
        return
      }
      scanned += UInt64(count)
      zeroStart = scanned - UInt64(trailing)
    }
  }

  /// Returns the end of the run of zeros that begins here; holes are not read.
  private mutating func zeroEnd(from position: UInt64) throws(StoreError) -> UInt64 {
    var end = max(scanned, position)
    while end < length {
      switch try source.extent(at: end) {
      case .hole(let next):
        end = min(next, length)
        continue
      case .unchanged(let next):
        if let zeros = try baseZeros(at: end) {
          end = min(next, zeros, length)
          continue
        }
      case .data: break
      }
      try fill(from: end)
      let from = Int(end - windowStart)
      let rest = filled - from
      let zeros = window.withUnsafeBytes {
        ValueChunking.leadingZeros(UnsafeRawBufferPointer(rebasing: $0[from..<(from + rest)]))
      }
      end += UInt64(zeros)
      if zeros < rest { break }
    }
    return end
  }

  private func baseZeros(at offset: UInt64) throws(StoreError) -> UInt64? {
    guard let base, offset < base.stored.length else { return nil }
    var node = base.top
    var start: UInt64 = 0
    while true {
      let index = node.index(of: offset - start)
      let item = node.items[index]
      let itemStart = start + node.starts[index]
      switch item.kind {
      case .zeros: return itemStart + item.length
      case .chunk: return nil
      case .node:
        node = try store.child(of: node, at: index)
        start = itemStart
      }
    }
  }

  /// Fills the window with the bytes that determine a cut at this position.
  private mutating func fill(from position: UInt64) throws(StoreError) {
    let wanted = min(length - position, UInt64(ContentWriter.lookahead))
    let end = windowStart + UInt64(filled)
    if position >= windowStart, position + wanted <= end { return }
    var kept = 0
    if position >= windowStart, position < end {
      let from = Int(position - windowStart)
      kept = filled - from
      window.withUnsafeMutableBytes { raw in
        // memmove: the two may overlap.
        UnsafeMutableRawBufferPointer(rebasing: raw[..<kept]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: raw[from..<filled]))
      }
    }
    windowStart = position
    filled = kept
    // With a base, the bytes behind may be unnecessary.
    let ahead = base == nil ? window.count : ContentWriter.lookahead
    let target = Int(min(length - position, UInt64(ahead)))
    while filled < target {
      let offset = windowStart + UInt64(filled)
      let extent = try source.extent(at: offset)
      let count = Int(min(UInt64(target - filled), extent.end - offset))
      guard count > 0 else { throw .invalid("a source's extent is empty") }
      try read(extent, offset, count)
      filled += count
    }
  }

  private mutating func read(
    _ extent: ContentExtent, _ offset: UInt64, _ count: Int
  ) throws(StoreError) {
    let (from, source, store) = (filled, source, store)
    let outcome = window.withUnsafeMutableBytes { raw in
      let out = UnsafeMutableRawBufferPointer(rebasing: raw[from..<(from + count)])
      return Result { () throws(StoreError) in
        switch extent {
        case .hole: out.initializeMemory(as: UInt8.self, repeating: 0)
        case .data: try source.read(at: offset, into: out)
        case .unchanged:
          if let stored = source.base {
            guard try store.read(stored, at: offset, into: out) == count else {
              throw StoreError.invalid("a source calls bytes unchanged that its base does not have")
            }
          } else {
            try source.read(at: offset, into: out)
          }
        }
      }
    }
    try outcome.get()
  }
}
