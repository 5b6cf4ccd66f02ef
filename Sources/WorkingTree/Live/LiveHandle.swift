import LLVSCore

/// An open file of the live tree.
package final class LiveHandle: @unchecked Sendable {
  // Unchecked: everything that changes is guarded by `LiveTree.lock`.

  let node: LiveNode
  /// How the file was opened.
  package struct Mode: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let read = Mode(rawValue: 1)
    package static let write = Mode(rawValue: 2)
    package static let append = Mode(rawValue: 4)
    package static let truncate = Mode(rawValue: 8)
    /// The open made the file.
    package static let created = Mode(rawValue: 16)
  }

  package let mode: Mode
  /// The epoch at open.
  let opened: UInt64
  /// The tree's stamp at open, then at its own last save.
  var seenStamp: UInt64
  /// The process that opened it; 0 if nobody knows.
  let process: Int32
  /// What the process had seen at the name before it opened this for writing: counts if it cuts the file
  /// without having read it through this.
  var seenBefore: UInt64?
  /// The kernel must drop what it holds of the file: it may be of bytes before, or hide what is read.
  package internal(set) var dropsPages = false
  /// The open updated the access time, so the kernel's cached attributes are out of date.
  package internal(set) var hasMovedAccessTime = false
  /// The newest save that this handle made.
  var lastSave: SavedState?
  /// Wrote or resized since its last flush.
  var wroteSinceFlush = false
  /// Ever wrote or resized.
  var wrote = false
  var flushes = 0

  init(node: LiveNode, mode: Mode, epoch: UInt64, stamp: UInt64, process: Int32) {
    self.node = node
    seenStamp = stamp
    self.mode = mode
    self.process = process
    opened = epoch
  }

  /// The file, as the kernel names it.
  package var inode: UInt64 { node.kernelID }

  /// The epoch that the writer has seen: at open, then that which its own last save went into.
  var seenEpoch: UInt64 {
    guard let lastSave else { return opened }
    return lastSave.takenIn ?? lastSave.epoch
  }

  /// Whether a write through it is a log's or database's rather than a new file's.
  var isSteady: Bool {
    mode.contains(.append) || mode.isDisjoint(with: [.created, .truncate])
  }
}
