import Inodes
import LLVSCore

extension Extent: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(bigEndian: start)
    bytes.append(bigEndian: length)
    bytes.append(bigEndian: offset)
    bytes.append(bigEndian: source)
  }
  init?(from reader: inout ByteReader) {
    let limit = UInt64(Int64.max)
    guard let start = UInt64(from: &reader), let length = UInt64(from: &reader),
      let offset = UInt64(from: &reader), let source = UInt32(from: &reader), length > 0,
      length <= limit, start <= limit, offset <= limit
    else { return nil }
    self.init(start: start, length: length, offset: offset, source: source)
  }
}

extension StoredContent: JournalCoded {
  /// u64 length, digest, u8 content (0 none; 1 inline: counted bytes; 2 a chunk, 3 a tree: a location).
  func encode(into bytes: inout ByteWriter) {
    length.encode(into: &bytes)
    bytes.append(digest)
    switch content {
    case .none: bytes.append(0)
    case .inline(let inline):
      bytes.append(1)
      bytes.append(counted: inline)
    case .chunk(let location): bytes.append(2, location)
    case .tree(let location): bytes.append(3, location)
    }
  }
  init?(from reader: inout ByteReader) {
    guard let length = UInt64(from: &reader), let digest = reader.digest(),
      let tag = UInt8(from: &reader)
    else { return nil }
    let content: Content
    switch tag {
    case 0: content = .none
    case 1:
      guard let inline = reader.counted() else { return nil }
      content = .inline(inline)
    case 2, 3:
      guard let location = reader.location() else { return nil }
      content = tag == 2 ? .chunk(location) : .tree(location)
    default: return nil
    }
    self.init(length: length, digest: digest, content: content)
  }
}

extension FileContent: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    base.encode(into: &bytes)
    bytes.append(bigEndian: size)
    bytes.append(bigEndian: UInt32(truncatingIfNeeded: extents.count))
    extents.forEach { $0.encode(into: &bytes) }
  }
  init?(from reader: inout ByteReader) {
    guard let base = StoredContent?(from: &reader), let size = UInt64(from: &reader),
      let count = UInt32(from: &reader), count <= reader.remaining
    else { return nil }
    var extents = ExtentList()
    var reach: UInt64 = 0
    for _ in 0..<count {
      guard let extent = Extent(from: &reader), extent.start >= reach, extent.end <= size else {
        return nil
      }
      reach = extent.end
      extents.put(extent)
    }
    self.init(base: base, extents: extents, size: size)
  }
}

extension PendingFile.Save: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(coded: content, mtime, time, broken, on, hasSetTime, isFirm, isSteady)
  }
  init?(from reader: inout ByteReader) {
    guard let content = FileContent(from: &reader), let mtime = Attributes.Time?(from: &reader),
      let time = Attributes.Time(from: &reader), let broken = Attributes.Time?(from: &reader),
      let on = Epoch?(from: &reader), let hasSetTime = Bool(from: &reader),
      let isFirm = Bool(from: &reader), let isSteady = Bool(from: &reader)
    else { return nil }
    self.init(
      content: content, mtime: mtime, time: time, broken: broken, on: on,
      hasSetTime: hasSetTime, isFirm: isFirm, isSteady: isSteady)
  }
}

extension PendingFile: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(coded: content, isUnsaved, isNeverSaved, isSteady, isMapped, saved, counted, taken)
  }
  init?(from reader: inout ByteReader) {
    guard let content = FileContent(from: &reader), let isUnsaved = Bool(from: &reader),
      let isNeverSaved = Bool(from: &reader), let isSteady = Bool(from: &reader),
      let isMapped = Bool(from: &reader), let saved = Save?(from: &reader),
      let counted = Save?(from: &reader), let taken = FileContent?(from: &reader)
    else { return nil }
    self.init(content: content)
    (self.isUnsaved, self.isNeverSaved) = (isUnsaved, isNeverSaved)
    (self.isSteady, self.isMapped) = (isSteady, isMapped)
    (self.saved, self.counted, self.taken) = (saved, counted, taken)
  }
}

extension Orphan: JournalCoded {
  /// u8 0 gone; 1 detached: place, path, epoch.
  func encode(into bytes: inout ByteWriter) {
    switch self {
    case .gone: bytes.append(0)
    case .detached(let place, let path, let epoch):
      bytes.append(1)
      bytes.append(coded: place, path, epoch)
    }
  }
  init?(from reader: inout ByteReader) {
    switch UInt8(from: &reader) {
    case 0?: self = .gone
    case 1?:
      guard let place = InodeName?(from: &reader), let path = TreePath?(from: &reader),
        let epoch = Epoch(from: &reader)
      else { return nil }
      self = .detached(place: place, path: path, epoch: epoch)
    default: return nil
    }
  }
}

extension PendingNode: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(
      coded: kind, CodedAttributes(attributes), hasNewAttributes, hasSetTime, lacksExtended,
      changed, file, names, recordedNames, on, orphan, stamp)
  }
  init?(from reader: inout ByteReader) {
    guard let kind = EntryKind(from: &reader), let attributes = CodedAttributes(from: &reader),
      let hasNewAttributes = Bool(from: &reader), let hasSetTime = Bool(from: &reader),
      let lacksExtended = Bool(from: &reader), let changed = Attributes.Time(from: &reader),
      let file = PendingFile?(from: &reader), let names = [InodeName](from: &reader),
      let recordedNames = [InodeName](from: &reader), let on = Epoch?(from: &reader),
      let orphan = Orphan?(from: &reader), let stamp = ChangeStamp(from: &reader),
      (file == nil) == (kind == .directory), names.isEmpty || orphan == nil
    else { return nil }
    self.init(
      kind: kind, attributes: attributes.attributes, changed: changed, file: file, names: names,
      recordedNames: recordedNames, stamp: stamp)
    (self.hasNewAttributes, self.on, self.orphan) = (hasNewAttributes, on, orphan)
    (self.hasSetTime, self.lacksExtended) = (hasSetTime, lacksExtended)
  }
}

extension NameChange: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(
      coded: inode, on, stamp, hidesRecorded, hidesDirectory, isDirectory, isHeld, other, isUnseen)
  }
  init?(from reader: inout ByteReader) {
    guard let inode = InodeNumber?(from: &reader),
      let on = reader.format < 2 ? Self.oldestEpoch(from: &reader) : Epoch?(from: &reader),
      let stamp = ChangeStamp(from: &reader), reader.format >= 2 || Int32(from: &reader) != nil,
      let hidesRecorded = Bool(from: &reader), let hidesDirectory = Bool(from: &reader),
      let isDirectory = Bool(from: &reader), let isHeld = Bool(from: &reader)
    else { return nil }
    self.init(inode: inode, on: on, stamp: stamp, hidesRecorded: hidesRecorded)
    (self.hidesDirectory, self.isDirectory, self.isHeld) = (hidesDirectory, isDirectory, isHeld)
    guard reader.format >= 5 else { return }
    guard let other = Other?(from: &reader), let isUnseen = Bool(from: &reader) else {
      return nil
    }
    (self.other, self.isUnseen) = (other, isUnseen)
  }

  /// Reads the three epochs of format 1 (of the change, of the one below, of the writer), and returns the oldest.
  private static func oldestEpoch(from reader: inout ByteReader) -> Epoch?? {
    guard let made = Epoch(from: &reader), let under = Epoch?(from: &reader),
      let seen = Epoch?(from: &reader)
    else { return nil }
    return Epoch?(under ?? made).older(seen)
  }
}

extension NameChange.Other: JournalCoded {
  func encode(into bytes: inout ByteWriter) { bytes.append(coded: on) }

  init?(from reader: inout ByteReader) {
    guard let on = Epoch?(from: &reader) else { return nil }
    self.init(on: on)
  }
}
