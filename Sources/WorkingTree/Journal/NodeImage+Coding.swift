import Inodes
import LLVSCore

// How the journal spells the model's types.

extension RecordEncoder {
  mutating func put(time: Attributes.Time) {
    put(time.seconds)
    put(time.nanoseconds)
  }

  mutating func put(extent: Extent) {
    put(extent.start)
    put(extent.length)
    put(extent.offset)
    put(extent.source)
  }

  /// Attributes are spelled as in digest 1.
  mutating func put(attributes: Attributes) {
    var fields: [UInt8] = []
    attributes.encode(into: &fields)
    put(counted: fields)
  }

  mutating func put<T>(optional value: T?, _ body: (inout RecordEncoder, T) -> Void) {
    put(value != nil)
    if let value { body(&self, value) }
  }

  mutating func put(stored: StoredContent) {
    put(stored.length)
    for word in [
      stored.digest.words.0, stored.digest.words.1, stored.digest.words.2, stored.digest.words.3,
    ] {
      put(word)
    }
    switch stored.content {
    case .none: put(UInt8(0))
    case .inline(let bytes):
      put(UInt8(1))
      put(counted: bytes)
    case .chunk(let location):
      put(UInt8(2))
      put(location: location)
    case .tree(let location):
      put(UInt8(3))
      put(location: location)
    }
  }

  mutating func put(location: Location) {
    put(location.segment)
    put(location.length)
    put(location.offset)
  }

  mutating func put(content: FileContent) {
    put(optional: content.base) { $0.put(stored: $1) }
    put(content.size)
    put(UInt32(truncatingIfNeeded: content.extents.count))
    content.extents.forEach { put(extent: $0) }
  }

  mutating func put(saved: SavedImage) {
    put(content: saved.content)
    put(optional: saved.mtime) { $0.put(time: $1) }
    put(saved.explicitTime)
    put(time: saved.time)
    put(saved.epoch)
  }

  mutating func put(entry: EntryImage) {
    put(counted: entry.key)
    put(attributes: entry.attributes)
    put(stored: entry.stored)
    put(entry.storedVersion)
    put(entry.revision)
  }

  mutating func put(image: NodeImage) {
    put(image.inode)
    put(image.kind.rawValue)
    put(image.parent)
    put(counted: image.name)
    put(attributes: image.attributes)
    put(time: image.ctime)
    put(optional: image.entry) { $0.put(entry: $1) }
    put(image.attributesChanged)
    put(image.explicitTime)
    put(image.isMoved)
    put(image.renewsInode)
    put(optional: image.basePath) { $0.put(counted: $1) }
    put(optional: image.content) { $0.put(content: $1) }
    put(image.unsaved)
    put(image.neverSaved)
    put(image.steady)
    put(image.writerEpoch)
    put(optional: image.saved) { $0.put(saved: $1) }
    put(optional: image.counted) { $0.put(saved: $1) }
    // Next to none has any: the record ends before them.
    guard image.extended != nil || image.baseExtended != nil else { return }
    put(optional: image.baseExtended) { $0.put(place: $1) }
    put(image.extended == image.baseExtended)
    if image.extended != image.baseExtended {
      put(optional: image.extended) { $0.put(place: $1) }
    }
  }

  mutating func put(root: MapRoot) {
    put(optional: root.location) { $0.put(location: $1) }
    for word in [
      root.digest.words.0, root.digest.words.1, root.digest.words.2, root.digest.words.3,
    ] {
      put(word)
    }
    put(root.count)
  }

  mutating func put(place: ExtendedPlace) {
    put(root: place.root)
    put(counted: place.key)
    put(place.revision)
  }
}

extension RecordDecoder {
  mutating func getKind() throws(Malformed) -> EntryKind {
    guard let kind = EntryKind(rawValue: try get()) else { throw Malformed() }
    return kind
  }

  mutating func getTime() throws(Malformed) -> Attributes.Time {
    Attributes.Time(seconds: try get(), nanoseconds: try get())
  }

  mutating func getExtent() throws(Malformed) -> Extent {
    let extent = Extent(
      start: try get(), length: try get(), offset: try get(), source: try get())
    guard extent.length > 0, extent.length <= UInt64(Int64.max), extent.start <= UInt64(Int64.max),
      extent.offset <= UInt64(Int64.max)
    else { throw Malformed() }
    return extent
  }

  mutating func getAttributes() throws(Malformed) -> Attributes {
    let fields = try getCounted(atMost: 1 << 24)
    guard let attributes = fields.withUnsafeBytes({ Attributes(decoding: $0) }) else {
      throw Malformed()
    }
    return attributes
  }

  mutating func getLocation() throws(Malformed) -> Location {
    let segment: UInt32 = try get()
    let length: UInt32 = try get()
    return Location(segment: segment, offset: try get(), length: length)
  }

  mutating func getStored() throws(Malformed) -> StoredContent {
    let length: UInt64 = try get()
    let digest = Digest(words: (try get(), try get(), try get(), try get()))
    let content: Content
    switch try get(UInt8.self) {
    case 0: content = .none
    case 1: content = .inline(try getCounted(atMost: 4096))
    case 2: content = .chunk(try getLocation())
    case 3: content = .tree(try getLocation())
    default: throw Malformed()
    }
    return StoredContent(length: length, digest: digest, content: content)
  }

  mutating func getContent() throws(Malformed) -> FileContent {
    let base = try getBool() ? try getStored() : nil
    let size: UInt64 = try get()
    var extents = ExtentList()
    var reach: UInt64 = 0
    for _ in 0..<(try get(UInt32.self)) {
      let extent = try getExtent()
      guard extent.start >= reach else { throw Malformed() }
      reach = extent.end
      extents.put(extent)
    }
    guard reach <= size || extents.isEmpty else { throw Malformed() }
    return FileContent(base: base, extents: extents, size: size)
  }

  mutating func getSaved() throws(Malformed) -> SavedImage {
    SavedImage(
      content: try getContent(), mtime: try getBool() ? try getTime() : nil,
      explicitTime: try getBool(), time: try getTime(), epoch: try get())
  }

  mutating func getEntry() throws(Malformed) -> EntryImage {
    EntryImage(
      key: try getCounted(atMost: 1 << 24), attributes: try getAttributes(),
      stored: try getStored(), storedVersion: try get(), revision: try get())
  }

  mutating func getRoot() throws(Malformed) -> MapRoot {
    let location = try getBool() ? try getLocation() : nil
    let digest = Digest(words: (try get(), try get(), try get(), try get()))
    return MapRoot(location: location, digest: digest, count: try get())
  }

  mutating func getPlace() throws(Malformed) -> ExtendedPlace {
    ExtendedPlace(
      root: try getRoot(), key: try getCounted(atMost: 1 << 24), revision: try get())
  }

  mutating func getImage() throws(Malformed) -> NodeImage {
    var image = try getPlainImage()
    guard !isAtEnd else { return image }
    image.baseExtended = try getBool() ? try getPlace() : nil
    if try getBool() {
      image.extended = image.baseExtended
    } else {
      image.extended = try getBool() ? try getPlace() : nil
    }
    guard image.extended != nil || image.baseExtended != nil else { throw Malformed() }
    return image
  }

  private mutating func getPlainImage() throws(Malformed) -> NodeImage {
    NodeImage(
      inode: try get(), kind: try getKind(), parent: try get(),
      name: try getCounted(atMost: 255), attributes: try getAttributes(), ctime: try getTime(),
      entry: try getBool() ? try getEntry() : nil, attributesChanged: try getBool(),
      explicitTime: try getBool(), isMoved: try getBool(), renewsInode: try getBool(),
      basePath: try getBool() ? try getCounted(atMost: 1 << 24) : nil,
      content: try getBool() ? try getContent() : nil, unsaved: try getBool(),
      neverSaved: try getBool(), steady: try getBool(), writerEpoch: try get(),
      saved: try getBool() ? try getSaved() : nil,
      counted: try getBool() ? try getSaved() : nil)
  }
}
