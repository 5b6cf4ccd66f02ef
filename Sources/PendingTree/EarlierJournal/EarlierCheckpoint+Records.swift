import Inodes
import LLVSCore

// The records of an earlier journal, of which only those of a checkpoint are read: a kind, and its fields.

extension EarlierCheckpoint {
  private enum Kind: UInt8 {
    case setAttributes = 7
    case cutMark = 10, epoch, synced, node, name, detached
    case sums = 17
  }

  /// The greatest kind that any format has.
  private static let lastKind: UInt8 = 19
  private static let pathLimit = 1 << 16

  /// Takes over the first record, the header: 8 bytes of magic, u32 format, and what the tree was.
  ///
  /// - Returns: the format.
  mutating func takeHeader(_ bytes: UnsafeRawBufferPointer) throws(EarlierRefusal) -> UInt32 {
    var input = EarlierReader(bytes)
    _ = try input.integer(UInt64.self)
    let format: UInt32 = try input.integer()
    _ = try input.counted(atMost: 64)
    head = try input.integer()
    _ = try input.root()
    cut = try input.integer()
    storeID = input.isAtEnd ? nil : try input.counted(atMost: 64)
    return format
  }

  /// Takes over a record behind the header.
  mutating func take(_ bytes: UnsafeRawBufferPointer) throws(EarlierRefusal) {
    guard let first = bytes.first else { throw .malformed }
    guard let kind = Kind(rawValue: first) else {
      throw first >= 1 && first <= Self.lastKind ? .operation : .malformed
    }
    var input = EarlierReader(UnsafeRawBufferPointer(rebasing: bytes[1...]))
    switch kind {
    case .setAttributes:
      // A checkpoint has those of the top directory, before all else.
      guard try input.number() == .root, nodes.isEmpty, names.isEmpty, detached.isEmpty else {
        throw .operation
      }
      root = Root(
        attributes: try input.attributes(), changed: try input.time(),
        hasSetTime: try input.bool())
    case .epoch:
      let first = Epoch(try input.integer())
      epochs.append(Beginning(first: first, version: try input.integer()))
    case .cutMark, .synced: _ = try input.integer(UInt64.self)
    case .node: nodes.append(try Node(from: &input))
    case .name:
      let place = try input.place()
      let inode = try input.number()
      let made = try input.epoch() ?? .first
      // The recorded tree tells what the change hides.
      _ = try input.bool()
      names.append(
        Name(place: place, inode: inode.rawValue == 0 ? nil : inode, made: made))
    case .detached:
      let (inode, directory) = (try input.number(), try input.number())
      let name = try input.counted(atMost: Self.pathLimit)
      _ = try input.number()
      detached.append(
        Detached(
          inode: inode, directory: directory.rawValue == 0 ? nil : directory, name: name,
          epoch: try input.epoch() ?? .first))
    case .sums: sums.append(try input.sums())
    }
    guard input.isAtEnd else { throw .malformed }
  }
}

extension EarlierCheckpoint.Node {
  fileprivate init(from input: inout EarlierReader) throws(EarlierRefusal) {
    number = try input.number()
    guard let kind = EntryKind(rawValue: try input.integer()) else { throw .malformed }
    self.kind = kind
    // One of its names; all of them have records.
    _ = try input.place()
    attributes = try input.attributes()
    changed = try input.time()
    stored = try input.optional { (input) throws(EarlierRefusal) in try input.entry() }
    hasNewAttributes = try input.bool()
    hasSetTime = try input.bool()
    // Two flags tell that it was moved, and that it gets another number: both follow from its names.
    _ = (try input.bool(), try input.bool())
    path = try input.optional { (input) throws(EarlierRefusal) in
      TreePath(try input.counted(atMost: 1 << 24))
    }
    content = try input.optional { (input) throws(EarlierRefusal) in try input.content() }
    isUnsaved = try input.bool()
    isNeverSaved = try input.bool()
    isSteady = try input.bool()
    seen = try input.epoch()
    saved = try input.optional { (input) throws(EarlierRefusal) in try input.save() }
    counted = try input.optional { (input) throws(EarlierRefusal) in try input.save() }
    if !input.isAtEnd { try readExtended(&input) }
    if isUnsaved, let mtime = hasSetTime ? changed : attributes.mtime { saved?.broken = mtime }
    saved?.isSteady = isSteady
    counted?.isSteady = isSteady
  }

  private mutating func readExtended(_ input: inout EarlierReader) throws(EarlierRefusal) {
    let recorded = try input.optional { (input) throws(EarlierRefusal) in try input.extended() }
    hasRecordedExtended = try input.bool()
    extended =
      hasRecordedExtended
      ? recorded
      : try input.optional { (input) throws(EarlierRefusal) in try input.extended() }
    extended?.isDirectory = kind == .directory
  }
}

extension EarlierReader {
  /// The entry of a version: key, attributes, content, u32 storing version, u64 revision. Its content is enough to
  /// find it.
  fileprivate mutating func entry() throws(EarlierRefusal) -> StoredContent {
    _ = try counted(atMost: 1 << 24)
    _ = try attributes()
    let stored = try stored()
    _ = (try integer(UInt32.self), try integer(UInt64.self))
    return stored
  }

  fileprivate mutating func extended() throws(EarlierRefusal) -> EarlierCheckpoint.ExtendedPlace {
    let place = EarlierCheckpoint.ExtendedPlace(
      root: try root(), key: try counted(atMost: 1 << 24))
    _ = try integer(UInt64.self)
    return place
  }
}
