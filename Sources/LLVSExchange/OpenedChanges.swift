import LLVSCore

/// The changes of a version, read before the commit that stores it if they are short: the
/// transaction then has less to do, and other writers wait less.
enum OpenedChanges<Changes: ChangeSource>: ChangeSource {
  /// Changes to read while they are stored.
  case unread(Changes)
  case read([WireChange<ReadyValue>])
  /// The changes were read, and have this fault.
  case malformed(StoreError)

  /// Changes with more bytes are read while they are stored.
  static var limit: Int { 65_536 }

  /// Reads changes that are short; nil if they turn out to be long.
  ///
  /// - Throws: the error of reading, except a fault in the changes.
  init?(reading changes: Changes, preparedBy contents: ContentStore) throws(StoreError) {
    let sink = ReadyValueSink(contents, atMost: Self.limit)
    var read: [WireChange<ReadyValue>] = []
    do throws(StoreError) {
      try changes.read(into: sink) { (change) throws(StoreError) in
        try sink.count(change.key.bytes.count + 64)
        read.append(change)
      }
    } catch {
      guard !sink.isFull else { return nil }
      guard case .invalid = error else { throw error }
      self = .malformed(error)
      return
    }
    self = .read(read)
  }

  func read<Sink: WireValueSink>(
    into sink: Sink, _ body: (WireChange<Sink.Stored>) throws(StoreError) -> Void
  ) throws(StoreError) {
    switch self {
    case .unread(let changes): try changes.read(into: sink, body)
    case .read(let changes):
      for change in changes {
        try body(change.map { (value) throws(StoreError) in try sink.store(value) })
      }
    case .malformed(let error): throw error
    }
  }
}

/// Hashes and packs values that come in pieces, up to a number of bytes.
private final class ReadyValueSink: WireValueSink {
  private let contents: ContentStore
  private var space: Int
  private var bytes: [UInt8] = []
  private(set) var isFull = false

  init(_ contents: ContentStore, atMost space: Int) {
    self.contents = contents
    self.space = space
  }

  /// Counts bytes that are kept.
  func count(_ count: Int) throws(StoreError) {
    space -= count
    guard space >= 0 else {
      isFull = true
      throw .invalid("more than is read ahead")
    }
  }

  func append(_ piece: UnsafeRawBufferPointer) throws(StoreError) {
    try count(piece.count)
    bytes.append(contentsOf: piece)
  }

  func finish() -> ReadyValue {
    defer { bytes = [] }
    return contents.ready(bytes)
  }
}

extension WireChange {
  /// Returns the same change with its value converted.
  func map<Other>(
    _ body: (Stored) throws(StoreError) -> Other
  ) throws(StoreError) -> WireChange<Other> {
    switch self {
    case .insert(let key, let stored): .insert(key, try body(stored))
    case .update(let key, let stored): .update(key, try body(stored))
    case .remove(let key): .remove(key)
    case .preserve(let key, let id): .preserve(key, id)
    case .preserveRemoval(let key): .preserveRemoval(key)
    }
  }
}
