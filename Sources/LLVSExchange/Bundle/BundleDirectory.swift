import LLVSCore

/// The statement of a bundle about which of a writer's bundles stay.
struct BundleClaim: Hashable, Sendable {
  var writer: String
  /// The greatest sequence number it speaks of; up to this one, bundles that ``kept`` lacks go.
  var upTo: UInt64
  var kept: SequenceRuns

  func announces(_ name: BundleName) -> Bool {
    name.writer == writer && name.sequence <= upTo && !kept.contains(name.sequence)
  }
}

/// Another bundle, which holds items that a bundle leaves out.
struct BundleNeed: Hashable, Sendable {
  var writer: String
  var sequence: UInt64
  /// The first 8 bytes of its hash.
  var hashStart: UInt64

}

/// A bundle by its writer and number.
struct BundleNumber: Hashable, Sendable {
  var writer: String
  var sequence: UInt64
  var text: String { "\(writer)-\(sequence)" }

  init(_ writer: String, _ sequence: UInt64) {
    self.writer = writer
    self.sequence = sequence
  }

  init(_ name: BundleName) { self.init(name.writer, name.sequence) }
  init(_ need: BundleNeed) { self.init(need.writer, need.sequence) }
}

extension BundleNeed {
  /// A statement about a bundle whose hash and contents its maker does not know.
  init(unneeded number: BundleNumber) {
    self.init(writer: number.writer, sequence: number.sequence, hashStart: 0)
  }

  var isUnneeded: Bool { hashStart == 0 }

  init(_ name: BundleName) {
    self.init(writer: name.writer, sequence: name.sequence, hashStart: name.hash.words.0)
  }
}

struct BundleDirectory: Hashable, Sendable {
  /// A frame of items; its bytes are proved by their digests.
  struct ContentFrame: Hashable, Sendable {
    var stands: Int
    var unpacked: Int
    var items: Int
  }

  /// A frame of the outline or the table; its bytes are proved by its hash.
  struct HashedFrame: Hashable, Sendable {
    var stands: Int
    var unpacked: Int
    var hash: Digest
  }

  var writer: String
  var sequence: UInt64
  var content: [ContentFrame] = []
  var outline: [HashedFrame] = []
  var table: [HashedFrame] = []
  var entries = 0
  /// The bundles that hold the items left out.
  var needs: [BundleNeed] = []
  /// The claims for this writer, then for writers that it adopted.
  var stays: [BundleClaim] = []
  /// The sequence numbers of this writer's bundles whose entries these are.
  var from = SequenceRuns()
  /// Other writers' lost or damaged bundles, all of whose contents other bundles hold.
  var filled: [BundleNeed] = []
  var items: Int { content.reduce(0) { $0 + $1.items } }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(shortText: writer)
    bytes.append(varint: sequence)
    bytes.append(varint: UInt64(content.count))
    for frame in content {
      bytes.append(varint: UInt64(frame.stands))
      bytes.append(varint: UInt64(frame.unpacked))
      bytes.append(varint: UInt64(frame.items))
    }
    for frames in [outline, table] {
      bytes.append(varint: UInt64(frames.count))
      for frame in frames {
        bytes.append(varint: UInt64(frame.stands))
        bytes.append(varint: UInt64(frame.unpacked))
        bytes.append(frame.hash)
      }
    }
    bytes.append(varint: UInt64(entries))
    bytes.append(needs)
    bytes.append(varint: UInt64(stays.count))
    for claim in stays {
      bytes.append(shortText: claim.writer)
      bytes.append(varint: claim.upTo)
      claim.kept.encode(to: &bytes)
    }
    from.encode(to: &bytes)
    bytes.append(filled)
    return bytes
  }

  /// Reads the directory of a bundle whose frames take the `space` bytes before it.
  /// - Throws: ``StoreError/invalid(_:)`` with the reason.
  init(
    _ bytes: UnsafeRawBufferPointer, of name: BundleName, space: UInt64, isSealed: Bool,
    format: UInt8 = BundleFormat.number
  ) throws(StoreError) {
    var reader = ByteReader(bytes)
    guard let writer = reader.writer(), let sequence = reader.varint() else {
      throw .invalid("its directory is cut off")
    }
    guard writer == name.writer, sequence == name.sequence else {
      throw .invalid("its directory is that of bundle \(sequence) of \(writer)")
    }
    (self.writer, self.sequence) = (writer, sequence)
    var rest = space
    let seal = isSealed ? BundleFormat.sealLength : 0
    guard let content = reader.contentFrames(&rest, seal),
      let outline = reader.hashedFrames(&rest, seal),
      let table = reader.hashedFrames(&rest, seal), rest == 0
    else { throw .invalid("the frames in its directory are not those of the file") }
    (self.content, self.outline, self.table) = (content, outline, table)
    guard let entries = reader.varint(), entries <= UInt64(BundleFormat.maximumEntries),
      let needs = reader.needs(), let stays = reader.claims(),
      let from = SequenceRuns(&reader, upTo: SequenceRuns.greatest),
      let filled = format > 2 ? reader.needs() : [], reader.remaining == 0
    else { throw .invalid("its directory is malformed") }
    self.entries = Int(entries)
    (self.needs, self.stays, self.from) = (needs, stays, from)
    self.filled = filled
    guard stays.first?.writer == writer, Set(stays.map(\.writer)).count == stays.count else {
      throw .invalid("it does not say which bundles of its writer stay, or says it twice")
    }
    guard entries == 0 || !outline.isEmpty, items == 0 || !table.isEmpty else {
      throw .invalid("its directory has entries or items without frames")
    }
  }

  init(writer: String, sequence: UInt64) {
    self.writer = writer
    self.sequence = sequence
  }
}

extension [UInt8] {
  fileprivate mutating func append(shortText text: String) {
    append(UInt8(text.utf8.count))
    append(contentsOf: text.utf8)
  }

  fileprivate mutating func append(_ needs: [BundleNeed]) {
    append(varint: UInt64(needs.count))
    for need in needs {
      append(shortText: need.writer)
      append(varint: need.sequence)
      append(bigEndian: need.hashStart)
    }
  }
}

extension ByteReader {
  fileprivate mutating func writer() -> String? {
    guard let count = integer(UInt8.self), let bytes = take(Int(count)),
      let text = String(validating: bytes, as: UTF8.self), BundleName.isWriter(text)
    else { return nil }
    return text
  }

  /// Reads a number of things that take at least so many bytes each.
  private mutating func count(atMost bound: Int, each length: Int) -> Int? {
    guard let count = varint(), count <= UInt64(bound), count <= UInt64(remaining / length) else {
      return nil
    }
    return Int(count)
  }

  private mutating func lengths(_ rest: inout UInt64, _ seal: Int) -> (stands: Int, unpacked: Int)?
  {
    guard let stands = varint(), let unpacked = varint(), unpacked > 0,
      unpacked <= UInt64(BundleFormat.frameLength), stands > UInt64(seal),
      stands <= unpacked + UInt64(seal), stands <= rest
    else { return nil }
    rest -= stands
    return (Int(stands), Int(unpacked))
  }

  fileprivate mutating func contentFrames(
    _ rest: inout UInt64, _ seal: Int
  ) -> [BundleDirectory.ContentFrame]? {
    guard let count = count(atMost: BundleFormat.maximumContentFrames, each: 3) else { return nil }
    var frames: [BundleDirectory.ContentFrame] = []
    frames.reserveCapacity(count)
    var space = UInt64(BundleFormat.maximumItems)
    for _ in 0..<count {
      // An item has at least one byte.
      guard let lengths = lengths(&rest, seal), let items = varint(), items > 0, items <= space,
        items <= UInt64(lengths.unpacked)
      else { return nil }
      space -= items
      frames.append(
        .init(stands: lengths.stands, unpacked: lengths.unpacked, items: Int(items)))
    }
    return frames
  }

  fileprivate mutating func hashedFrames(
    _ rest: inout UInt64, _ seal: Int
  ) -> [BundleDirectory.HashedFrame]? {
    guard let count = count(atMost: BundleFormat.maximumOtherFrames, each: 34) else { return nil }
    var frames: [BundleDirectory.HashedFrame] = []
    frames.reserveCapacity(count)
    for _ in 0..<count {
      guard let lengths = lengths(&rest, seal), let hash = digest() else { return nil }
      frames.append(.init(stands: lengths.stands, unpacked: lengths.unpacked, hash: hash))
    }
    return frames
  }

  fileprivate mutating func needs() -> [BundleNeed]? {
    guard let count = count(atMost: BundleFormat.maximumNeeds, each: 11) else { return nil }
    var needs: [BundleNeed] = []
    for _ in 0..<count {
      guard let writer = writer(), let sequence = varint(), let start = integer(UInt64.self) else {
        return nil
      }
      needs.append(BundleNeed(writer: writer, sequence: sequence, hashStart: start))
    }
    return Set(needs).count == needs.count ? needs : nil
  }

  fileprivate mutating func claims() -> [BundleClaim]? {
    guard let count = count(atMost: BundleFormat.maximumClaims, each: 4) else { return nil }
    var claims: [BundleClaim] = []
    for _ in 0..<count {
      guard let writer = writer(), let upTo = varint(), upTo <= SequenceRuns.greatest,
        let kept = SequenceRuns(&self, upTo: upTo)
      else { return nil }
      claims.append(BundleClaim(writer: writer, upTo: upTo, kept: kept))
    }
    return claims
  }
}
