package import Inodes
package import LLVSCore

/// A record: a change, a step of a cut, or a part of the image with which a journal begins.
package enum JournalRecord: Equatable, Sendable {
  case change(Change)
  /// Changes that are made together.
  case changes([Change])
  /// The image begins.
  case image(epoch: Epoch, stamp: ChangeStamp, isCutting: Bool)
  indirect case node(InodeNumber, PendingNode)
  /// A name change of the image.
  case name(InodeName, NameChange)
  /// The version of an epoch, by the store's number.
  case epoch(Epoch, version: UInt32)
  /// Checksums of bytes in a data file.
  case sums(source: UInt32, [BytesSum])
  /// The instant of a cut, which takes no later change.
  case mark(cut: UInt64)
  /// A cut is about to be committed.
  case taking(TakingRecord)
  /// A cut was committed or abandoned, with these edits of the overlay.
  case settled(cut: UInt64, isCommitted: Bool, OverlayEdits)
  /// Everything before an offset of this file is on the disk.
  case synced(end: UInt64)

  private enum Tag: UInt8, JournalCoded {
    case change = 1, image, node, name, changes, epoch, sums, mark, taking, settled, synced
  }

  static func sums(of source: UInt32, all: [BytesSum]) -> [JournalRecord] {
    stride(from: 0, to: all.count, by: 4096).map { start in
      .sums(source: source, Array(all[start..<min(start + 4096, all.count)]))
    }
  }

  /// Appends the record in a frame, to be sealed.
  package func append(to bytes: inout ByteWriter) {
    JournalFrame.append(to: &bytes) { encode(into: &$0) }
  }

  /// Appends a record of changes that are made together, as ``append(to:)``.
  static func append(_ changes: [Change], to bytes: inout ByteWriter) {
    JournalFrame.append(to: &bytes) { bytes in
      if changes.count == 1 {
        Tag.change.encode(into: &bytes)
        changes[0].encode(into: &bytes)
      } else {
        Tag.changes.encode(into: &bytes)
        changes.encode(into: &bytes)
      }
    }
  }

  private func encode(into bytes: inout ByteWriter) {
    switch self {
    case .change(let change): bytes.append(coded: Tag.change, change)
    case .changes(let changes): bytes.append(coded: Tag.changes, changes)
    case .image(let epoch, let stamp, let isCutting):
      bytes.append(coded: Tag.image, epoch, stamp, isCutting)
    case .node(let number, let node): bytes.append(coded: Tag.node, number, node)
    case .name(let place, let change): bytes.append(coded: Tag.name, place, change)
    case .epoch(let epoch, let version): bytes.append(coded: Tag.epoch, epoch, version)
    case .sums(let source, let sums): bytes.append(coded: Tag.sums, source, sums)
    case .mark(let cut): bytes.append(coded: Tag.mark, cut)
    case .taking(let record): bytes.append(coded: Tag.taking, record)
    case .settled(let cut, let isCommitted, let edits):
      bytes.append(coded: Tag.settled, cut, isCommitted, edits)
    case .synced(let end): bytes.append(coded: Tag.synced, end)
    }
  }

  init?(decoding bytes: UnsafeRawBufferPointer, format: UInt32 = JournalFileHeader.format) {
    var reader = ByteReader(bytes)
    reader.format = format
    guard let tag = Tag(from: &reader),
      let record = Self.record(tag, &reader), reader.remaining == 0
    else { return nil }
    self = record
  }

  private static func record(_ tag: Tag, _ reader: inout ByteReader) -> Self? {
    switch tag {
    case .change: Change(from: &reader).map { .change($0) }
    case .changes: [Change](from: &reader).map { .changes($0) }
    case .image, .node, .name, .epoch: image(tag, &reader)
    case .sums:
      if let source = UInt32(from: &reader), let sums = [BytesSum](from: &reader) {
        .sums(source: source, sums)
      } else {
        nil
      }
    case .taking: TakingRecord(from: &reader).map { .taking($0) }
    case .mark: UInt64(from: &reader).map { .mark(cut: $0) }
    case .synced: UInt64(from: &reader).map { .synced(end: $0) }
    case .settled:
      if let cut = UInt64(from: &reader), let isCommitted = Bool(from: &reader),
        let edits = OverlayEdits(from: &reader)
      {
        .settled(cut: cut, isCommitted: isCommitted, edits)
      } else {
        nil
      }
    }
  }

  private static func image(_ tag: Tag, _ reader: inout ByteReader) -> Self? {
    switch tag {
    case .node:
      guard let number = InodeNumber(from: &reader), let node = PendingNode(from: &reader) else {
        return nil
      }
      return .node(number, node)
    case .name:
      guard let place = InodeName(from: &reader), let change = NameChange(from: &reader) else {
        return nil
      }
      return .name(place, change)
    case .epoch:
      guard let epoch = Epoch(from: &reader), let version = UInt32(from: &reader) else {
        return nil
      }
      return .epoch(epoch, version: version)
    default:
      guard let epoch = Epoch(from: &reader), let stamp = ChangeStamp(from: &reader),
        let isCutting = Bool(from: &reader)
      else { return nil }
      return .image(epoch: epoch, stamp: stamp, isCutting: isCutting)
    }
  }

  /// Calls `body` with each run of bytes of data files that the record refers to.
  func forEachExtent(_ body: (Extent) -> Void) {
    switch self {
    case .change(let change): change.forEachExtent(body)
    case .changes(let changes): for change in changes { change.forEachExtent(body) }
    case .node(_, let node): node.file?.forEachExtent(body)
    case .settled(_, _, let edits): for node in edits.newNodes { node.file?.forEachExtent(body) }
    case .image, .name, .epoch, .sums, .mark, .taking, .synced: break
    }
  }
}

extension Change {
  /// Calls `body` with each run of bytes of data files that the change refers to.
  func forEachExtent(_ body: (Extent) -> Void) {
    switch operation {
    case .create(_, _, _, _, let content, _, _): content.forEachStagedExtent(body)
    case .write(_, let extent, _, _): if extent.source != Extent.base { body(extent) }
    case .node(_, let node): node.file?.forEachExtent(body)
    case .resize, .punch, .save, .attributes, .link, .unlink, .rmdir, .rename, .exchange, .release:
      break
    }
  }
}

extension PendingFile {
  /// Calls `body` with each run of bytes of data files that the file refers to.
  func forEachExtent(_ body: (Extent) -> Void) {
    content.forEachStagedExtent(body)
    saved?.content.forEachStagedExtent(body)
    counted?.content.forEachStagedExtent(body)
    // A version that takes only a new name reads these again.
    taken?.forEachStagedExtent(body)
  }
}

extension FileContent {
  func forEachStagedExtent(_ body: (Extent) -> Void) {
    extents.forEach { if $0.source != Extent.base { body($0) } }
  }
}
