import LLVSCore

/// The changes of a version in a bundle; the bytes of values are fetched as they are read.
final class BundleChanges: ChangeSource {
  private let bundle: BundleReader
  private let table: BundleTable
  private let range: Range<UInt64>
  private let fetcher: ItemFetcher
  private let label: String
  /// The items of this bundle that nodes refer to.
  private let numbers: [BundleItem: Int]

  init(
    _ bundle: BundleReader, _ table: BundleTable, numbers: [BundleItem: Int],
    _ range: Range<UInt64>, _ fetcher: ItemFetcher, label: String
  ) {
    self.bundle = bundle
    self.table = table
    self.numbers = numbers
    self.range = range
    self.fetcher = fetcher
    self.label = label
  }

  private func malformed(_ reason: String) -> StoreError { .invalid("\(label): \(reason)") }

  func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError) {
    let stream = OutlineStream(bundle, range, label: label)
    while !stream.isAtEnd {
      let change = try stream.change(in: bundle.directory)
      try body(
        try change.map { (value) throws(StoreError) in try store(value, at: change.key, sink) })
    }
  }

  private func store<Sink: WireValueSink>(
    _ value: OutlineValue, at key: Key, _ sink: Sink
  ) throws(StoreError) -> Sink.Stored {
    switch value {
    case .inline(let bytes):
      try bytes.withPiece { (raw) throws(StoreError) in try sink.append(raw) }
    case .item(let number, let length):
      try append(table.items[number], length, try bytes(of: table.items[number]), sink)
    case .leftOut(let digest, let length, _):
      let item = BundleItem(value: digest, length: length)
      try append(item, length, try bytes(of: item), sink)
    case .forgotten(let digest, let length):
      guard length > UInt64(Entry.inlineLimit) else {
        throw malformed("a short value without its bytes")
      }
      let item = BundleItem(value: digest, length: length)
      // This store, or another bundle, may have what the writer has forgotten.
      guard try isComplete(item) else { return try sink.absent(digest, length: length) }
      try append(item, length, try bytes(of: item), sink)
    }
    return try sink.finish(at: key)
  }

  private func bytes(of item: BundleItem) throws(StoreError) -> [UInt8] {
    if let number = numbers[item], try fetcher.hasBases(number, in: table) {
      return try fetcher.bytes(number, in: bundle, table)
    }
    guard let bytes = try fetcher.bytes(of: item) else {
      throw malformed("bytes of a value are in no bundle that is there")
    }
    return bytes
  }

  private func append<Sink: WireValueSink>(
    _ item: BundleItem, _ length: UInt64, _ bytes: [UInt8], _ sink: Sink
  ) throws(StoreError) {
    switch item.kind {
    case .chunk:
      guard UInt64(bytes.count) == length, length <= UInt64(ValueChunking.singleChunk) else {
        throw malformed("a value has another length than its bytes")
      }
      try bytes.withPiece { (raw) throws(StoreError) in try sink.append(raw) }
    case .top:
      let node = try node(bytes)
      guard node.length == length, length > UInt64(ValueChunking.singleChunk) else {
        throw malformed("a value has another length than its nodes")
      }
      try append(below: node, sink)
    case .node: throw malformed("a value that begins with a node of another")
    }
  }

  private func node(_ bytes: [UInt8]) throws(StoreError) -> ValueNodeForm {
    guard let node = bytes.withUnsafeBytes({ ValueNodeForm($0) }) else {
      throw malformed("a node of a value is malformed")
    }
    return node
  }

  private func append<Sink: WireValueSink>(
    below node: ValueNodeForm, _ sink: Sink
  ) throws(StoreError) {
    for (length, part) in node.parts {
      switch part {
      case .chunk(let digest):
        let bytes = try bytes(of: BundleItem(.chunk, digest))
        guard UInt64(bytes.count) == length else {
          throw malformed("a chunk has another length than its node says")
        }
        try bytes.withPiece { (raw) throws(StoreError) in try sink.append(raw) }
      case .zeros: try sink.append(zeros: length)
      case .node(let digest):
        let child = try self.node(try bytes(of: BundleItem(.node, digest)))
        // Levels fall to zero, so the recursion ends.
        guard child.level + 1 == node.level, child.length == length else {
          throw malformed("a node is not the one that its parent says")
        }
        try append(below: child, sink)
      }
    }
  }

  /// Returns true if all bytes of all values are in this bundle, in this store, or in a listed bundle.
  func isComplete() throws(StoreError) -> Bool {
    let stream = OutlineStream(bundle, range, label: label)
    while !stream.isAtEnd {
      let value: OutlineValue
      switch try stream.change(in: bundle.directory) {
      case .insert(_, let inserted): value = inserted
      case .update(_, let updated): value = updated
      case .remove, .preserve, .preserveRemoval: continue
      }
      switch value {
      case .inline: break
      case .item(let number, _):
        guard try isComplete(table.items[number]) else { return false }
      case .leftOut(let digest, let length, _):
        guard try isComplete(BundleItem(value: digest, length: length)) else { return false }
      case .forgotten: break
      }
    }
    return true
  }

  private func isComplete(_ item: BundleItem) throws(StoreError) -> Bool {
    var isThere = false
    if let number = numbers[item] { isThere = try fetcher.hasBases(number, in: table) }
    if !isThere { isThere = try fetcher.isThere(item) }
    guard isThere else { return false }
    guard item.kind != .chunk else { return true }
    for (_, part) in try node(try bytes(of: item)).parts {
      switch part {
      case .zeros: break
      case .chunk(let digest):
        guard try isComplete(BundleItem(.chunk, digest)) else { return false }
      case .node(let digest):
        guard try isComplete(BundleItem(.node, digest)) else { return false }
      }
    }
    return true
  }
}
