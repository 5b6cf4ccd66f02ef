import LLVS

// Everything here is guarded by `LiveTree.lock`; the classes are shared between threads only through it.

/// A saved state of a file: what a version may take.
final class SavedState {
  var content: FileContent
  /// The mtime at the save; changed by a later utimensat(2) while no further byte was written.
  var mtime: Attributes.Time?
  var explicitTime: Bool
  let time: Attributes.Time
  /// When it was saved, on the monotonic clock.
  let tick: UInt64
  /// When the next write came; a save counts for a cut only if that took `settle`.
  var brokenTick: UInt64?
  /// Saved by fsync(2), which says more than that a descriptor was closed: a database orders its files by
  /// it, so it counts whatever follows.
  var isSynced = false
  /// The bytes of a log or a database, which an overdue cut takes as they stand.
  var isSteady = false
  /// The epoch that the writer had last seen.
  var epoch: UInt64
  /// The epoch of who has seen this state once a cut took it: that of the version it went into.
  var takenIn: UInt64?
  /// Who saved it, where it is remembered what the process had read there.
  var reader: ReaderMemory.Place?

  init(
    content: FileContent, mtime: Attributes.Time?, explicitTime: Bool, time: Attributes.Time,
    tick: UInt64, epoch: UInt64
  ) {
    self.content = content
    self.mtime = mtime
    self.explicitTime = explicitTime
    self.time = time
    self.tick = tick
    self.epoch = epoch
  }
}

/// The pending side of a regular file or symbolic link.
final class LiveFile {
  var content: FileContent
  /// Bytes or a size that no save covers.
  var unsaved = false
  /// Made here, and never saved: versions do not know it.
  var neverSaved = false
  /// Every unsaved write came through a handle that appends or neither made nor emptied the file.
  var steady = true
  /// The oldest epoch that a writer of the unsaved bytes had seen.
  var writerEpoch: UInt64 = 0
  /// When the last byte was written, on the monotonic clock.
  var lastWriteTick: UInt64 = 0
  /// The mtime that the unsaved bytes gave the file was set by utimensat(2).
  var explicitTime = false
  /// Unsaved bytes came from a mapping, so any writable handle's close saves them.
  var mapped = false
  /// The newest save.
  var saved: SavedState?
  /// The newest save that was followed by `settle` without a write, if ``saved`` is newer.
  var counted: SavedState?

  init(content: FileContent) {
    self.content = content
  }
}

/// What stands at a name of a directory differently from the base.
struct Override {
  /// The node, nil for a name that went away.
  var node: LiveNode?
  /// The epoch in which the name was made or removed.
  var epoch: UInt64
  /// The tree's stamp when it changed.
  var stamp: UInt64
  /// Whether the base has something at the name: then its absence must be remembered, and no pattern
  /// makes it scratch.
  var hidesBase: Bool
}

/// A name in a directory.
struct NodeName {
  let parent: LiveNode
  let name: [UInt8]
}

/// The pending side of a directory.
final class LiveDirectory {
  /// Where its unchanged children stand in the base; nil if it is not in the base.
  var basePath: [UInt8]?
  var overrides: [[UInt8]: Override] = [:]
  /// Grows with every change of a name.
  var stamp: UInt64 = 0

  init(basePath: [UInt8]?) {
    self.basePath = basePath
  }
}

/// A file, link or directory of the live tree that the kernel knows, a handle holds, or a change touches.
///
/// About 400 bytes; a node that is none of these three is dropped and found again in the base.
final class LiveNode {
  let inode: UInt64
  let kind: EntryKind
  /// The directory that holds it; nil for the root and for nodes without a name.
  var parent: LiveNode?
  var name: [UInt8]
  /// Its names besides ``name``, where it has several; see LiveTree+Links.
  var furtherNames: [NodeName] = []
  /// What the kernel remembers: look-ups minus forgets.
  var lookups: UInt64 = 0
  /// Open handles.
  var handles: Int32 = 0
  /// Handles that may write.
  var writers: Int32 = 0
  /// Nodes whose ``parent`` this is.
  var pins: Int32 = 0
  /// What the base holds for it; nil for a node that is not in the base.
  var entry: Entry?
  var attributes: Attributes
  var ctime: Attributes.Time
  /// When it came to be as far as this tree knows: its mtime where none was recorded.
  var born: Attributes.Time
  /// Bytes of its value in the base that are zeros and take no room.
  var zeroBytes: UInt64 = 0
  var atime: Attributes.Time?
  var file: LiveFile?
  let directory: LiveDirectory?
  /// Stands in its parent's overrides.
  var isTouched = false
  /// The journal knows it.
  var isJournaled = false
  /// Attributes differ from the base's.
  var attributesChanged = false
  /// The mtime was set by utimensat(2).
  var explicitTime = false
  /// Grows with every change; tells an install whether a cut saw the newest state.
  var stamp: UInt64 = 0
  /// The base has another number at its name: the next head that is set must learn this one.
  var renewsInode = false
  /// Renamed since the base: it stands at another name than there.
  var isMoved = false

  init(
    inode: UInt64, kind: EntryKind, parent: LiveNode?, name: [UInt8], entry: Entry?,
    attributes: Attributes, ctime: Attributes.Time, directory: LiveDirectory?
  ) {
    self.inode = inode
    self.kind = kind
    self.parent = parent
    self.name = name
    self.entry = entry
    self.attributes = attributes
    self.ctime = ctime
    born = ctime
    self.directory = directory
    parent?.pins += 1
  }

  /// Gives a node of one name another place, or none.
  func move(to newParent: LiveNode?, as newName: [UInt8]) {
    parent?.pins -= 1
    parent = newParent
    name = newName
    newParent?.pins += 1
  }

  /// All names, the first included; none for the root and for a node without a name.
  var names: [NodeName] {
    guard let parent else { return [] }
    return [NodeName(parent: parent, name: name)] + furtherNames
  }

  /// Whether it stands at a name of a directory.
  func stands(at name: [UInt8], of directory: LiveNode) -> Bool {
    if parent === directory, self.name == name { return true }
    return furtherNames.contains { $0.parent === directory && $0.name == name }
  }

  /// Gives the node one name more.
  func addName(_ name: [UInt8], of directory: LiveNode) {
    guard parent != nil else { return move(to: directory, as: name) }
    guard !stands(at: name, of: directory) else { return }
    furtherNames.append(NodeName(parent: directory, name: name))
    directory.pins += 1
  }

  /// Takes one of several names, or the last one.
  func removeName(_ name: [UInt8], of directory: LiveNode) {
    if parent === directory, self.name == name {
      guard let next = furtherNames.popLast() else { return move(to: nil, as: name) }
      next.parent.pins -= 1
      return move(to: next.parent, as: next.name)
    }
    guard
      let index = furtherNames.firstIndex(where: { $0.parent === directory && $0.name == name })
    else { return }
    furtherNames.remove(at: index)
    directory.pins -= 1
  }

  /// Whether a name leads to it from the root.
  var isLinked: Bool {
    var node = self
    while let next = node.parent { node = next }
    return node.inode == LiveTree.rootInode
  }

  /// The path from the root, "" for the root itself; nil for a node without a name.
  var path: [UInt8]? {
    var names: [[UInt8]] = []
    var node = self
    while let next = node.parent {
      names.append(node.name)
      node = next
    }
    guard node.inode == LiveTree.rootInode else { return nil }
    var path: [UInt8] = []
    for name in names.reversed() {
      if !path.isEmpty { path.append(UInt8(ascii: "/")) }
      path.append(contentsOf: name)
    }
    return path
  }

  /// The bytes as they stand.
  var content: FileContent {
    if let file { return file.content }
    guard let entry else { return FileContent() }
    return FileContent(stored: entry.stored)
  }

  /// How many of the bytes take room.
  var storedSize: UInt64 {
    if let file { return file.content.stored(zerosInBase: zeroBytes) }
    return size > zeroBytes ? size - zeroBytes : 0
  }

  /// The bytes' count as they stand.
  var size: UInt64 {
    file?.content.size ?? entry?.stored.length ?? 0
  }
}
