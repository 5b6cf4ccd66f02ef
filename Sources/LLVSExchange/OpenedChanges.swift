import LLVSCore

/// The changes of a version; short ones are read before the commit that stores it, so that other writers wait less.
enum OpenedChanges<Changes: ChangeSource>: ChangeSource {
  case unread(Changes)
  case read([WireChange<ReadyValue>])
  /// The changes were read, and have this fault.
  case malformed(StoreError)
  static var limit: Int { 65_536 }

  /// Reads short changes; nil if they turn out to be long.
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
        try body(
          change.map { (value) throws(StoreError) in try sink.store(value, at: change.key) })
      }
    case .malformed(let error): throw error
    }
  }
}

private final class ReadyValueSink: WireValueSink {
  private let contents: ContentStore
  private var space: Int
  private var bytes: [UInt8] = []
  private(set) var isFull = false

  init(_ contents: ContentStore, atMost space: Int) {
    self.contents = contents
    self.space = space
  }

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

  func absent(_ digest: Digest, length: UInt64) throws(StoreError) -> ReadyValue {
    isFull = true
    throw .invalid("bytes that are nowhere are not read ahead")
  }

  func finish(at key: Key?) -> ReadyValue {
    defer { bytes = [] }
    return contents.ready(bytes)
  }
}
