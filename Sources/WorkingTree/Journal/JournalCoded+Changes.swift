import Inodes
import LLVSCore

// Changes: time, process, u8 operation, and what the operation names, in the order of its declaration.

extension Change: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    time.encode(into: &bytes)
    process.encode(into: &bytes)
    operation.encode(into: &bytes)
  }
  init?(from reader: inout ByteReader) {
    guard let time = Attributes.Time(from: &reader), let process = Int32(from: &reader),
      let operation = Operation(from: &reader)
    else { return nil }
    self.init(time: time, process: process, operation)
  }
}

extension Change.Operation: JournalCoded {
  private enum Tag: UInt8, JournalCoded {
    case node = 1, create, write, resize, punch, save, attributes, link, unlink, rmdir, rename
    case exchange, release
  }

  func encode(into bytes: inout ByteWriter) {
    switch self {
    case .node(let number, let node): bytes.append(coded: Tag.node, number, node)
    case .create(let number, let place, let kind, let attributes, let content, let saved, let seen):
      // One by one, because a list copies its values: this and the next two are most of all records.
      bytes.append(Tag.create.rawValue)
      number.encode(into: &bytes)
      place.encode(into: &bytes)
      kind.encode(into: &bytes)
      CodedAttributes.encode(attributes, into: &bytes)
      content.encode(into: &bytes)
      saved.encode(into: &bytes)
      seen.encode(into: &bytes)
    case .write(let number, let extent, let flags, let seen):
      bytes.append(Tag.write.rawValue)
      number.encode(into: &bytes)
      extent.encode(into: &bytes)
      flags.encode(into: &bytes)
      seen.encode(into: &bytes)
    case .resize(let number, let size, let flags, let seen):
      bytes.append(coded: Tag.resize, number, size, flags, seen)
    case .punch(let number, let range, let flags, let seen):
      bytes.append(coded: Tag.punch, number, range.lowerBound, range.upperBound, flags, seen)
    case .save(let number, let isFirm):
      bytes.append(Tag.save.rawValue)
      number.encode(into: &bytes)
      isFirm.encode(into: &bytes)
    case .attributes(let number, let attributes, let lacksExtended, let setsTime):
      bytes.append(
        coded: Tag.attributes, number, CodedAttributes(attributes), lacksExtended, setsTime)
    case .link(let number, let place, let id, let seen):
      bytes.append(coded: Tag.link, number, place)
      bytes.append(counted: id)
      bytes.append(coded: seen)
    case .unlink(let place, let number, let isKept, let remover):
      bytes.append(coded: Tag.unlink, place, number, RemovalFlags(isKept, remover))
    case .rmdir(let place, let number): bytes.append(coded: Tag.rmdir, place, number)
    case .rename(let number, let from, let to, let over, let isKept, let remover, let seen):
      bytes.append(coded: Tag.rename, number, from, to, over, RemovalFlags(isKept, remover), seen)
    case .exchange(let one, let place, let other, let otherPlace, let seen, let otherSeen):
      bytes.append(coded: Tag.exchange, one, place, other, otherPlace, seen, otherSeen)
    case .release(let number): bytes.append(coded: Tag.release, number)
    }
  }

  init?(from reader: inout ByteReader) {
    guard let tag = Tag(from: &reader) else { return nil }
    let operation: Self? =
      switch tag {
      case .node, .create, .save, .attributes, .release: Self.inode(tag, &reader)
      case .write, .resize, .punch: Self.bytes(tag, &reader)
      case .link, .unlink, .rmdir, .rename, .exchange: Self.name(tag, &reader)
      }
    guard let operation else { return nil }
    self = operation
  }

  private static func inode(_ tag: Tag, _ reader: inout ByteReader) -> Self? {
    guard let number = InodeNumber(from: &reader) else { return nil }
    switch tag {
    case .node: return PendingNode(from: &reader).map { .node(number, $0) }
    case .attributes:
      guard let attributes = CodedAttributes(from: &reader), let lacks = Bool(from: &reader),
        let setsTime = Bool(from: &reader)
      else { return nil }
      return .attributes(number, attributes.attributes, lacksExtended: lacks, setsTime: setsTime)
    case .save: return Bool(from: &reader).map { .save(number, isFirm: $0) }
    case .release: return .release(number)
    default:
      guard let place = InodeName(from: &reader), let kind = EntryKind(from: &reader),
        let attributes = CodedAttributes(from: &reader), let content = FileContent(from: &reader),
        let isSaved = Bool(from: &reader), let seen = Epoch?(from: &reader)
      else { return nil }
      return .create(
        number, at: place, kind: kind, attributes: attributes.attributes, content: content,
        isSaved: isSaved, seen: seen)
    }
  }

  private static func bytes(_ tag: Tag, _ reader: inout ByteReader) -> Self? {
    guard let number = InodeNumber(from: &reader) else { return nil }
    if tag == .write {
      guard let extent = Extent(from: &reader), let flags = Change.WriteFlags(from: &reader),
        let seen = Epoch?(from: &reader)
      else { return nil }
      return .write(number, extent, flags, seen: seen)
    }
    guard let first = UInt64(from: &reader) else { return nil }
    var end = first
    if tag == .punch {
      guard let upper = UInt64(from: &reader), upper >= first else { return nil }
      end = upper
    }
    guard let flags = Change.WriteFlags(from: &reader), let seen = Epoch?(from: &reader)
    else { return nil }
    return tag == .punch
      ? .punch(number, first..<end, flags, seen: seen)
      : .resize(number, to: first, flags, seen: seen)
  }

  private static func name(_ tag: Tag, _ reader: inout ByteReader) -> Self? {
    if tag == .unlink || tag == .rmdir {
      guard let place = InodeName(from: &reader), let number = InodeNumber(from: &reader) else {
        return nil
      }
      if tag == .rmdir { return .rmdir(place, of: number) }
      return RemovalFlags(from: &reader).map {
        .unlink(place, of: number, isKept: $0.isKept, by: $0.remover)
      }
    }
    guard let number = InodeNumber(from: &reader), let place = InodeName(from: &reader) else {
      return nil
    }
    switch tag {
    case .link:
      guard let id = reader.counted(), let seen = Epoch?(from: &reader) else { return nil }
      return .link(number, at: place, id: id, seen: seen)
    case .exchange:
      guard let other = InodeNumber(from: &reader), let otherPlace = InodeName(from: &reader),
        let seen = Epoch?(from: &reader), let otherSeen = Epoch?(from: &reader)
      else { return nil }
      return .exchange(
        number, at: place, with: other, otherAt: otherPlace, seen: seen, otherSeen: otherSeen)
    default:
      guard let to = InodeName(from: &reader), let over = InodeNumber?(from: &reader),
        let flags = RemovalFlags(from: &reader), let seen = Epoch?(from: &reader)
      else { return nil }
      return .rename(
        number, from: place, to: to, over: over, isKept: flags.isKept, by: flags.remover,
        seen: seen)
    }
  }
}

/// A truth value and a remover in one byte: formats before 4 have the first alone.
private struct RemovalFlags: JournalCoded {
  let isKept: Bool
  let remover: Change.Remover

  init(_ isKept: Bool, _ remover: Change.Remover) {
    (self.isKept, self.remover) = (isKept, remover)
  }

  func encode(into bytes: inout ByteWriter) {
    bytes.append((isKept ? 1 : 0) | remover.rawValue << 1)
  }

  init?(from reader: inout ByteReader) {
    guard let value = reader.integer(UInt8.self),
      let remover = Change.Remover(rawValue: value >> 1)
    else { return nil }
    self.init(value & 1 != 0, remover)
  }
}
