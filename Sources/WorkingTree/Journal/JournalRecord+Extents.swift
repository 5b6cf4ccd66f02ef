import Inodes

extension JournalRecord {
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
