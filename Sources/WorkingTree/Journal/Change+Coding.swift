import Inodes
import LLVSCore

// Journal format 5 (1 had no `sums`; before 4 there was no `setStatus`, and images had all their attributes;
// before 5 there was no `exchange`). A change is a kind byte and its fields in the order below; every count is bounded
// when it is read. A kind is never given another meaning.

extension Change {
  private enum Kind: UInt8 {
    case bind = 1
    case create, write, resize, punch, save, setAttributes, rename, remove, cutMark, epoch, synced
    case node, override, detached, link, sums
    /// The same as `setAttributes`, but for the extended ones, which stay as they are.
    case setStatus
    case exchange
  }

  /// The bytes of a name, an attribute set and a path at most.
  private static let nameLimit = 255
  private static let pathLimit = 1 << 16

  /// How many payloads one `sums` record has at most.
  static let sumLimit = 4096

  /// The size of every `write` record: kind, inode, extent, checksum, time, epoch, flags.
  static let writeRecordSize = 1 + 8 + 28 + 8 + 12 + 8 + 1

  /// The change as the journal keeps it.
  func encoded() -> [UInt8] {
    var out = RecordEncoder(reserving: 96)
    encode(into: &out)
    return out.bytes
  }

  /// Appends the change as the journal keeps it.
  func encode(into out: inout RecordEncoder) {
    switch self {
    case .bind(let inode, let parent, let name):
      out.put(Kind.bind.rawValue)
      out.put(inode)
      out.put(parent)
      out.put(counted: name)
    case .create(
      let inode, let parent, let name, let kind, let attributes, let target, let time, let saved):
      out.put(Kind.create.rawValue)
      out.put(inode)
      out.put(parent)
      out.put(counted: name)
      out.put(kind.rawValue)
      out.put(attributes: attributes)
      out.put(counted: target)
      out.put(time: time)
      out.put(saved)
    case .write(let inode, let extent, let checksum, let time, let epoch, let flags):
      out.put(Kind.write.rawValue)
      out.put(inode)
      out.put(extent: extent)
      out.put(checksum)
      out.put(time: time)
      out.put(epoch)
      out.put(flags.rawValue)
    case .resize(let inode, let size, let time, let epoch, let flags):
      out.put(Kind.resize.rawValue)
      out.put(inode)
      out.put(size)
      out.put(time: time)
      out.put(epoch)
      out.put(flags.rawValue)
    case .punch(let inode, let range, let time, let epoch):
      out.put(Kind.punch.rawValue)
      out.put(inode)
      out.put(range.lowerBound)
      out.put(range.upperBound)
      out.put(time: time)
      out.put(epoch)
    case .save(let inode, let time, let epoch):
      out.put(Kind.save.rawValue)
      out.put(inode)
      out.put(time: time)
      out.put(epoch)
    case .setAttributes(let inode, let attributes, let keepsExtended, let time, let explicitTime):
      out.put(keepsExtended ? Kind.setStatus.rawValue : Kind.setAttributes.rawValue)
      out.put(inode)
      out.put(attributes: attributes)
      out.put(time: time)
      out.put(explicitTime)
    case .rename(let fromParent, let from, let toParent, let to, let exchange, let time, let epoch):
      out.put(Kind.rename.rawValue)
      out.put(fromParent)
      out.put(counted: from)
      out.put(toParent)
      out.put(counted: to)
      out.put(exchange)
      out.put(time: time)
      out.put(epoch)
    case .exchange(
      let fromParent, let from, let toParent, let to, let time, let fromEpoch, let toEpoch):
      out.put(Kind.exchange.rawValue)
      out.put(fromParent)
      out.put(counted: from)
      out.put(toParent)
      out.put(counted: to)
      out.put(time: time)
      out.put(fromEpoch)
      out.put(toEpoch)
    case .link(let inode, let parent, let name, let id, let time, let epoch):
      out.put(Kind.link.rawValue)
      out.put(inode)
      out.put(parent)
      out.put(counted: name)
      out.put(counted: id)
      out.put(time: time)
      out.put(epoch)
    case .remove(let parent, let name, let time, let epoch):
      out.put(Kind.remove.rawValue)
      out.put(parent)
      out.put(counted: name)
      out.put(time: time)
      out.put(epoch)
    case .cutMark(let id):
      out.put(Kind.cutMark.rawValue)
      out.put(id)
    case .epoch(let id, let predecessor):
      out.put(Kind.epoch.rawValue)
      out.put(id)
      out.put(predecessor)
    case .synced(let end):
      out.put(Kind.synced.rawValue)
      out.put(end)
    case .node(let image):
      out.put(Kind.node.rawValue)
      out.put(image: image)
    case .override(let parent, let name, let inode, let epoch, let hidesBase):
      out.put(Kind.override.rawValue)
      out.put(parent)
      out.put(counted: name)
      out.put(inode)
      out.put(epoch)
      out.put(hidesBase)
    case .detached(let inode, let parent, let name, let successor, let epoch):
      out.put(Kind.detached.rawValue)
      out.put(inode)
      out.put(parent)
      out.put(counted: name)
      out.put(successor)
      out.put(epoch)
    case .sums(let source, let payloads):
      out.put(Kind.sums.rawValue)
      out.put(source)
      out.put(UInt32(truncatingIfNeeded: payloads.count))
      for payload in payloads {
        out.put(payload.offset)
        out.put(payload.length)
        out.put(payload.checksum)
      }
    }
  }

  /// Reads a change back.
  ///
  /// - Throws: ``RecordDecoder/Malformed`` for anything that ``encoded()`` does not make.
  init(decoding bytes: [UInt8]) throws(RecordDecoder.Malformed) {
    var input = RecordDecoder(bytes)
    guard let kind = Kind(rawValue: try input.get()) else { throw RecordDecoder.Malformed() }
    switch kind {
    case .bind:
      self = .bind(
        inode: try input.get(), parent: try input.get(),
        name: try input.getCounted(atMost: Self.nameLimit))
    case .create:
      self = .create(
        inode: try input.get(), parent: try input.get(),
        name: try input.getCounted(atMost: Self.nameLimit), kind: try input.getKind(),
        attributes: try input.getAttributes(),
        target: try input.getCounted(atMost: Self.pathLimit), time: try input.getTime(),
        saved: try input.getBool())
    case .write:
      self = .write(
        inode: try input.get(), extent: try input.getExtent(), checksum: try input.get(),
        time: try input.getTime(), epoch: try input.get(),
        flags: WriteFlags(rawValue: try input.get()))
    case .resize:
      self = .resize(
        inode: try input.get(), size: try input.get(), time: try input.getTime(),
        epoch: try input.get(), flags: WriteFlags(rawValue: try input.get()))
    case .punch:
      let inode: UInt64 = try input.get()
      let low: UInt64 = try input.get()
      let high: UInt64 = try input.get()
      guard low <= high else { throw RecordDecoder.Malformed() }
      self = .punch(
        inode: inode, range: low..<high, time: try input.getTime(), epoch: try input.get())
    case .save:
      self = .save(inode: try input.get(), time: try input.getTime(), epoch: try input.get())
    case .setAttributes, .setStatus:
      self = .setAttributes(
        inode: try input.get(), attributes: try input.getAttributes(),
        keepsExtended: kind == .setStatus, time: try input.getTime(),
        explicitTime: try input.getBool())
    case .rename:
      self = .rename(
        fromParent: try input.get(), from: try input.getCounted(atMost: Self.nameLimit),
        toParent: try input.get(), to: try input.getCounted(atMost: Self.nameLimit),
        exchange: try input.getBool(), time: try input.getTime(), epoch: try input.get())
    case .exchange:
      self = .exchange(
        fromParent: try input.get(), from: try input.getCounted(atMost: Self.nameLimit),
        toParent: try input.get(), to: try input.getCounted(atMost: Self.nameLimit),
        time: try input.getTime(), fromEpoch: try input.get(), toEpoch: try input.get())
    case .link:
      let inode: UInt64 = try input.get()
      let parent: UInt64 = try input.get()
      let name = try input.getCounted(atMost: Self.nameLimit)
      let id = try input.getCounted(atMost: 16)
      guard id.count == 16 else { throw RecordDecoder.Malformed() }
      self = .link(
        inode: inode, parent: parent, name: name, id: id, time: try input.getTime(),
        epoch: try input.get())
    case .remove:
      self = .remove(
        parent: try input.get(), name: try input.getCounted(atMost: Self.nameLimit),
        time: try input.getTime(), epoch: try input.get())
    case .cutMark:
      self = .cutMark(id: try input.get())
    case .epoch:
      self = .epoch(id: try input.get(), predecessor: try input.get())
    case .synced:
      self = .synced(end: try input.get())
    case .node:
      self = .node(try input.getImage())
    case .override:
      self = .override(
        parent: try input.get(), name: try input.getCounted(atMost: Self.nameLimit),
        inode: try input.get(), epoch: try input.get(), hidesBase: try input.getBool())
    case .detached:
      let (inode, parent): (UInt64, UInt64) = (try input.get(), try input.get())
      // Without a directory it is a path.
      let limit = parent == LiveTree.Detached.nowhere ? Self.pathLimit : Self.nameLimit
      self = .detached(
        inode: inode, parent: parent, name: try input.getCounted(atMost: limit),
        successor: try input.get(), epoch: try input.get())
    case .sums:
      let source: UInt32 = try input.get()
      let count: UInt32 = try input.get()
      guard source != Extent.base, count <= Self.sumLimit else { throw RecordDecoder.Malformed() }
      var payloads: [Payload] = []
      for _ in 0..<count {
        let offset: UInt64 = try input.get()
        let length: UInt32 = try input.get()
        guard length > 0, length <= Payload.limit, offset <= UInt64(Int64.max) else {
          throw RecordDecoder.Malformed()
        }
        payloads.append(Payload(offset: offset, checksum: try input.get(), length: length))
      }
      self = .sums(source: source, payloads: payloads)
    }
    guard input.isAtEnd else { throw RecordDecoder.Malformed() }
  }
}
