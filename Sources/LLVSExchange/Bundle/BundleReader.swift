import LLVSCore
internal import Platform
internal import Synchronization

/// The bytes of a bundle.
/// - Concurrency: any thread.
protocol BundleBytes: Sendable {
  /// Returns the bytes of a range that lies within the length in the bundle's name.
  /// - Throws: ``StoreError/notFound(_:)``, ``StoreError/invalid(_:)`` if it is short, or an error of the place.
  func read(_ range: Range<UInt64>) throws(StoreError) -> [UInt8]
  /// Asks for bytes that did not match.
  func readAgain(_ range: Range<UInt64>) throws(StoreError) -> [UInt8]
  func prepare(_ range: Range<UInt64>) throws(StoreError)
}

extension BundleBytes {
  func readAgain(_ range: Range<UInt64>) throws(StoreError) -> [UInt8] { try read(range) }

  /// Returns bytes with a hash; nil if they do not match it, however often they are asked for.
  fileprivate func read(
    _ range: Range<UInt64>, hash: Digest
  ) throws(StoreError) -> [UInt8]? {
    for attempt in 0..<BundleReader.readings {
      let bytes = try attempt == 0 ? read(range) : readAgain(range)
      if Digest.of(bytes) == hash { return bytes }
    }
    return nil
  }
}

/// One bundle: its directory, its table, its outline and its items.
///
/// Nothing is trusted: the tail proves the directory, which proves the frames of outline and table, digests the
/// items; each number is compared with its bound before memory is allocated for what it counts.
/// - Concurrency: any thread.
final class BundleReader: Sendable {
  /// The times that bytes are asked for until they match.
  static let readings = 3
  static let locked =
    "encrypted with a key that this store does not hold; \"llvs key open\" asks for its passphrase"
  static let newer = "of a newer program: update llvs"
  static let notEncrypted = "it is not encrypted, and everything at this peer has to be"
  let name: BundleName
  let directory: BundleDirectory
  let label: String
  private let bytes: any BundleBytes
  private let seal: BundleSeal?
  private let cache: FrameCache
  private let contentOffsets: [UInt64]
  private let outlineOffsets: [UInt64]
  private let tableOffsets: [UInt64]
  // A leaf lock.
  private let known = Mutex<BundleTable?>(nil)
  /// The number of items before each frame of items, and then of all.
  let firstItems: [Int]
  /// The offset in the outline of each of its frames, and then its length.
  let outlineStarts: [UInt64]

  /// Opens a bundle; `keys` are those of an encrypted remote.
  /// - Throws: ``StoreError/invalid(_:)`` if it is malformed, or plain at an encrypted remote;
  ///   ``StoreError/fromTheFuture(_:)`` for a newer format or an unknown key; an error of reading.
  init(
    _ name: BundleName, _ bytes: any BundleBytes, cache: FrameCache,
    keys: HeldKeys? = nil
  ) throws(StoreError) {
    self.name = name
    self.bytes = bytes
    self.cache = cache
    let label = "\(BundleFormat.folder)/\(name.text)"
    self.label = label
    func malformed(_ reason: String) -> StoreError { .invalid("\(label): \(reason)") }
    let tail = try Tail(reading: bytes, of: name, label)
    if tail.isSealed {
      guard let keys else {
        throw .fromTheFuture("\(label): it is encrypted, and no key is held for this peer")
      }
      seal = keys.seal(
        keyID: tail.keyID, salt: tail.salt, writer: name.writer, sequence: name.sequence,
        format: tail.format)
      guard seal != nil else {
        throw .fromTheFuture("\(label): it is \(Self.locked)")
      }
    } else {
      guard keys == nil else {
        throw malformed(Self.notEncrypted)
      }
      seal = nil
    }
    guard let standing = try bytes.read(tail.directory, hash: tail.hash) else {
      throw malformed("its directory is damaged")
    }
    guard let unpacked = cache.compression.frame(standing, to: tail.unpacked, seal, .directory, 0)
    else { throw malformed("its directory does not unpack") }
    let space = tail.directory.lowerBound - BundleFormat.headLength
    do throws(StoreError) {
      directory = try unpacked.withPiece { (raw) throws(StoreError) in
        try BundleDirectory(
          raw, of: name, space: space, isSealed: tail.isSealed, format: tail.format)
      }
    } catch {
      guard case .invalid(let reason) = error else { throw error }
      throw malformed(reason)
    }
    var offset = BundleFormat.headLength
    func offsets(_ lengths: [Int]) -> [UInt64] {
      lengths.map { length in
        defer { offset += UInt64(length) }
        return offset
      }
    }
    contentOffsets = offsets(directory.content.map(\.stands))
    outlineOffsets = offsets(directory.outline.map(\.stands))
    tableOffsets = offsets(directory.table.map(\.stands))
    firstItems = directory.content.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.items) }
    outlineStarts = directory.outline.reduce(into: [0]) {
      $0.append(($0.last ?? 0) + UInt64($1.unpacked))
    }
    try bytes.prepare(suffix)
  }

  var suffix: Range<UInt64> {
    (outlineOffsets.first ?? tableOffsets.first ?? name.length)..<name.length
  }

  var outlineLength: UInt64 { outlineStarts[outlineStarts.count - 1] }

  private func damaged(_ reason: String) -> StoreError {
    cache.noteDamage(of: name)
    return .invalid("\(label): \(reason)")
  }

  private func reading<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      return try body()
    } catch {
      if case .invalid = error { cache.noteDamage(of: name) }
      throw error
    }
  }

  func outlineFrame(_ number: Int) throws(StoreError) -> [UInt8] {
    try hashedFrame(.outline, number, directory.outline[number], outlineOffsets[number])
  }

  private func hashedFrame(
    _ kind: BundleFormat.FrameKind, _ number: Int, _ frame: BundleDirectory.HashedFrame,
    _ offset: UInt64
  ) throws(StoreError) -> [UInt8] {
    let place = FrameCache.Place(bundle: name.hash, kind: kind, number: number)
    if let known = cache.frame(place) { return known }
    let range = offset..<(offset + UInt64(frame.stands))
    let read = try reading { () throws(StoreError) in try bytes.read(range, hash: frame.hash) }
    guard let standing = read else { throw damaged("a frame of its \(kind) is damaged") }
    guard let unpacked = cache.compression.frame(standing, to: frame.unpacked, seal, kind, number)
    else { throw damaged("a frame of its \(kind) does not unpack") }
    cache.keep(unpacked, at: place)
    return unpacked
  }

  func place(ofContentFrame number: Int) -> Range<UInt64> {
    contentOffsets[number]..<(contentOffsets[number] + UInt64(directory.content[number].stands))
  }

  /// Returns a frame of items, whose bytes only the digests of the items prove; nil if it does not unpack.
  private func contentFrame(
    _ number: Int, from prefix: [UInt8], isAgain: Bool
  ) throws(StoreError) -> [UInt8]? {
    let place = FrameCache.Place(bundle: name.hash, kind: .content, number: number)
    if !isAgain, let known = cache.frame(place) { return known }
    let range = self.place(ofContentFrame: number)
    let standing = try reading { () throws(StoreError) in
      try isAgain ? bytes.readAgain(range) : bytes.read(range)
    }
    let length = directory.content[number].unpacked
    let unpacked = cache.compression.frame(
      standing, to: length, seal, .content, number, from: prefix)
    if let unpacked { cache.keep(unpacked, at: place) }
    return unpacked
  }

  /// Returns true if bytes are a frame of items that the table describes, a patch of the bytes of `prefix`.
  func isRight(
    _ standing: [UInt8], frame number: Int, _ table: BundleTable, from prefix: [UInt8]
  ) -> Bool {
    let length = directory.content[number].unpacked
    guard
      let frame = cache.compression.frame(
        standing, to: length, seal, .content, number, from: prefix)
    else { return false }
    return (firstItems[number]..<firstItems[number + 1]).allSatisfy { item in
      frame[table.place(of: item).range].withUnsafeBytes { table.items[item].isProved(by: $0) }
    }
  }

  /// - Throws: ``StoreError/invalid(_:)`` if it is malformed or contradicts the directory.
  func table() throws(StoreError) -> BundleTable {
    if let known = known.withLock({ $0 }) { return known }
    let table = try readTable()
    known.withLock { $0 = table }
    return table
  }

  private func readTable() throws(StoreError) -> BundleTable {
    var table = BundleTable(firstItems: firstItems, directory.content.map(\.unpacked))
    var rest: [UInt8] = []
    for (number, frame) in directory.table.enumerated() {
      rest += try hashedFrame(.table, number, frame, tableOffsets[number])
      guard let used = rest.withUnsafeBytes({ table.add($0) }) else {
        throw .invalid("\(label): its table is malformed")
      }
      rest.removeFirst(used)
    }
    guard rest.isEmpty, table.isWhole else {
      throw .invalid("\(label): its table is not that of its frames")
    }
    return table
  }

  /// Returns the bytes of an item, proved by its digest; `chunk` returns the bases of a patch.
  /// - Throws: ``StoreError/invalid(_:)`` if they are other bytes, ``StoreError/notFound(_:)`` without a base.
  func item(
    _ number: Int, in table: BundleTable,
    chunk: (Digest) throws(StoreError) -> [UInt8]? = { _ in nil }
  ) throws(StoreError) -> [UInt8] {
    let place = table.place(of: number)
    var prefix: [UInt8] = []
    for base in table.bases[number] ?? [] {
      guard let bytes = try chunk(base), prefix.count + bytes.count <= BundleFormat.longestBases
      else { throw .notFound("\(label): item \(number) is a patch of bytes that are in no bundle") }
      prefix += bytes
    }
    var fault = ""
    for attempt in 0..<BundleReader.readings {
      guard let frame = try contentFrame(place.frame, from: prefix, isAgain: attempt > 0) else {
        fault = "its frame \(place.frame) does not unpack"
        continue
      }
      let bytes = Array(frame[place.range])
      if bytes.withUnsafeBytes({ table.items[number].isProved(by: $0) }) { return bytes }
      fault = "its item \(number) is damaged"
    }
    throw damaged(fault)
  }
}

struct BundleTable: Sendable {
  private(set) var items: [BundleItem] = []
  /// The bases of the items that are patches, by the numbers of these.
  private(set) var bases: [Int: [Digest]] = [:]
  private var lengths: [UInt32] = []
  /// The offset of each item in its frame.
  private var starts: [UInt32] = []
  private let firstItems: [Int]
  private let frameLengths: [Int]
  private var frame = 0
  /// A shorter rest may be a part of an entry.
  private static let longestEntry = 43 + 32 * BundleFormat.mostBases

  init(firstItems: [Int], _ frameLengths: [Int]) {
    self.firstItems = firstItems
    self.frameLengths = frameLengths
  }

  /// Adds the whole entries at the start of bytes, and returns their length; nil for a malformed one.
  fileprivate mutating func add(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var reader = ByteReader(bytes)
    var used = 0
    while reader.remaining > 0 {
      guard let form = reader.integer(UInt8.self), let digest = reader.digest(),
        let length = reader.varint(),
        let bases = form & BundleFormat.patchFlag == 0 ? [] : reader.bases()
      else { return bytes.count - used < Self.longestEntry ? used : nil }
      used = bytes.count - reader.remaining
      guard let kind = BundleItem.Kind(rawValue: form & ~BundleFormat.patchFlag), length > 0,
        length <= UInt64(BundleItem.longest(kind)), frame < frameLengths.count
      else { return nil }
      if form & BundleFormat.patchFlag != 0 {
        // A patch is alone in its frame.
        guard kind == .chunk, firstItems[frame + 1] - firstItems[frame] == 1,
          (1...BundleFormat.mostBases).contains(bases.count)
        else { return nil }
        self.bases[items.count] = bases
      }
      var start = 0
      if items.count > firstItems[frame], let before = starts.last, let size = lengths.last {
        start = Int(before) + Int(size)
      }
      let end = start + Int(length)
      items.append(BundleItem(kind, digest))
      lengths.append(UInt32(length))
      starts.append(UInt32(start))
      let isLast = items.count == firstItems[frame + 1]
      // The items of a frame fill it.
      guard isLast ? end == frameLengths[frame] : end < frameLengths[frame] else { return nil }
      if isLast { frame += 1 }
    }
    return used
  }

  fileprivate var isWhole: Bool { items.count == firstItems[firstItems.count - 1] }

  var held: [HeldItem] {
    items.enumerated().map { HeldItem(item: $1, isPatch: bases[$0] != nil) }
  }

  /// Returns the frame of an item and its place there.
  func place(of number: Int) -> (frame: Int, range: Range<Int>) {
    let frame = firstItems.partitioningIndex { number < $0 } - 1
    let start = Int(starts[number])
    return (frame, start..<(start + Int(lengths[number])))
  }
}

extension ByteReader {
  /// Returns nil if the bytes end before.
  fileprivate mutating func bases() -> [Digest]? {
    guard let count = integer(UInt8.self), remaining >= Int(count) * 32 else { return nil }
    return (0..<count).compactMap { _ in digest() }
  }
}

extension Compression {
  /// Returns a frame unpacked; nil if it has another length or was sealed for another place.
  fileprivate func frame(
    _ standing: [UInt8], to length: Int, _ seal: BundleSeal?,
    _ kind: BundleFormat.FrameKind, _ number: Int, from prefix: [UInt8] = []
  ) -> [UInt8]? {
    var packed = standing
    if let seal {
      guard let opened = seal.opened(standing, kind, number) else { return nil }
      packed = opened
    }
    if !prefix.isEmpty { return undelta(packed[...], from: prefix, length: length) }
    if packed.count == length { return packed }
    return packed.withUnsafeBytes { raw in
      let unpacked = self.unpacked(raw, atMost: length)
      return unpacked?.count == length ? unpacked : nil
    }
  }
}
