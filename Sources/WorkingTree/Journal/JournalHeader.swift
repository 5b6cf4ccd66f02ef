import LLVSCore

/// What stands at the head of a journal file: the tree that its changes are made on.
struct JournalHeader: Hashable, Sendable {
  /// What is written. Four more are read: format 1 has no checksums of what its checkpoint refers to, format 2
  /// names each epoch, where an epoch stands now for those that follow up to the next that is named, format 3
  /// has all extended attributes of a node, where now it may say where they are, format 4 has one epoch for
  /// both of two names that change places.
  static let format: UInt32 = 5
  /// None takes more bytes.
  static let lengthLimit = 512
  static let magic: [UInt8] = Array("llvsjrn1".utf8)

  /// The format that it was read in.
  private(set) var found = Self.format

  /// The kernel's boot id when the file was begun: equal means that no power was lost since.
  var bootID: [UInt8]
  /// The version the live tree continues from; 0 before the first.
  var head: UInt32
  /// The live map's root.
  var root: MapRoot
  /// The cut that this generation follows; a cut mark above it is newer than the checkpoint.
  var cut: UInt64
  /// The store that it belongs to; nil in those that programs wrote which did not say. They pass over it.
  var store: [UInt8]?

  func encoded() -> [UInt8] {
    var out = RecordEncoder(reserving: 160)
    for byte in Self.magic { out.put(byte) }
    out.put(found)
    out.put(counted: bootID)
    out.put(head)
    out.put(root: root)
    out.put(cut)
    if let store { out.put(counted: store) }
    return out.bytes
  }

  init(bootID: [UInt8], head: UInt32, root: MapRoot, cut: UInt64, store: [UInt8]? = nil) {
    self.bootID = bootID
    self.head = head
    self.root = root
    self.cut = cut
    self.store = store
  }

  /// Reads a header back.
  ///
  /// - Throws: ``StoreError/corrupt(_:)`` if it is none, ``StoreError/fromTheFuture(_:)`` for a
  ///   format that this program does not know.
  init(decoding bytes: [UInt8]) throws(StoreError) {
    do throws(RecordDecoder.Malformed) {
      var input = RecordDecoder(bytes)
      for byte in Self.magic {
        guard try input.get(UInt8.self) == byte else { throw RecordDecoder.Malformed() }
      }
      found = try input.get()
      guard found >= 1, found <= Self.format else { throw RecordDecoder.Malformed() }
      bootID = try input.getCounted(atMost: 64)
      head = try input.get()
      root = try input.getRoot()
      cut = try input.get()
      store = input.isAtEnd ? nil : try input.getCounted(atMost: 64)
    } catch {
      throw Self.fault(bytes)
    }
  }

  /// Why bytes are no header of this format.
  private static func fault(_ bytes: [UInt8]) -> StoreError {
    guard bytes.starts(with: magic), bytes.count >= magic.count + 4 else {
      return .corrupt("the journal has no header")
    }
    let found = bytes[magic.count..<(magic.count + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return found > format
      ? .fromTheFuture("the journal has format \(found), this program knows up to \(format)")
      : .corrupt("the journal's header is damaged")
  }
}
