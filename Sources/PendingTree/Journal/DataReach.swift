import Inodes

/// The ends of the bytes that a journal's records refer to, by data file.
///
/// If every data file is at least that long, no file lacks bytes at its end, and none has to be looked at.
struct DataReach {
  private var ends: [UInt32: UInt64] = [:]

  /// True if all data files have their bytes, given the size of each.
  func isWithin(_ sizes: [UInt32: UInt64]) -> Bool {
    ends.allSatisfy { source, end in end <= sizes[source] ?? 0 }
  }

  /// Adds what a record refers to.
  mutating func add(_ record: JournalRecord) {
    switch record {
    case .change(let change): add(change.operation)
    case .changes(let changes): for change in changes { add(change.operation) }
    case .node(_, let node): add(node)
    case .settled(_, _, let edits): for node in edits.newNodes { add(node) }
    // None of these refers to bytes of files.
    case .image, .name, .epoch, .sums, .mark, .taking, .synced: break
    }
  }

  private mutating func add(_ operation: Change.Operation) {
    switch operation {
    case .create(_, _, _, _, let content, _, _): add(content)
    case .write(_, let extent, _, _): add(extent)
    case .node(_, let node): add(node)
    case .resize, .punch, .save, .attributes, .link, .unlink, .rmdir, .rename, .exchange, .release:
      break
    }
  }

  private mutating func add(_ node: PendingNode) {
    guard let file = node.file else { return }
    add(file.content)
    if let saved = file.saved { add(saved.content) }
    if let counted = file.counted { add(counted.content) }
    if let taken = file.taken { add(taken) }
  }

  private mutating func add(_ content: FileContent) { content.extents.forEach { add($0) } }

  private mutating func add(_ extent: Extent) {
    guard extent.source != Extent.base else { return }
    let end = extent.offset + extent.length
    if end > ends[extent.source] ?? 0 { ends[extent.source] = end }
  }
}
