package import Inodes
package import LLVSCore
import TreeNames

/// The attributes of an inode as stat(2) shows them.
package struct InodeStatus: Hashable, Sendable {
  /// st_ino, and the kernel's number.
  package var number: InodeNumber
  package var kind: EntryKind
  package var mode: UInt32
  /// st_nlink; 2 and the number of subdirectories for a directory, 0 for a removed one.
  package var links: UInt32
  package var uid: UInt32
  package var gid: UInt32
  package var device: Attributes.Device
  package var size: UInt64
  /// The bytes that take room: the size without holes.
  package var stored: UInt64
  package var mtime: Attributes.Time
  package var ctime: Attributes.Time
  package var atime: Attributes.Time

  /// Creates a status; `stored` is the size by default.
  package init(
    number: InodeNumber, kind: EntryKind, mode: UInt32, links: UInt32, uid: UInt32, gid: UInt32,
    device: Attributes.Device = Attributes.Device(major: 0, minor: 0), size: UInt64,
    stored: UInt64? = nil, mtime: Attributes.Time, ctime: Attributes.Time, atime: Attributes.Time
  ) {
    (self.number, self.kind, self.mode, self.links) = (number, kind, mode, links)
    (self.uid, self.gid, self.device) = (uid, gid, device)
    (self.size, self.stored) = (size, stored ?? size)
    (self.mtime, self.ctime, self.atime) = (mtime, ctime, atime)
  }
}

extension WorkingTree {
  /// Returns the attributes of an inode, with the lock held; throws ``FSError/stale`` for an unknown number.
  @inline(__always)
  func status(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> InodeStatus {
    let node = state.stated(number)
    // The pending state of a file is complete.
    if let node, let content = node.content {
      let zeros = try content.base.map { (stored) throws(FSError) in
        try base.zeroBytes(of: stored)
      }
      return status(
        of: number, node.kind, node.attributes, state, links: node.names,
        size: content.size, stored: content.stored(zerosInBase: zeros ?? 0),
        changed: node.changed, mtime: node.attributes.mtime ?? node.changed)
    }
    if let node {
      return status(
        of: number, node.kind, node.attributes, state,
        links: try links(of: number, node, state, base), size: 0, stored: 0,
        changed: node.changed, mtime: node.attributes.mtime ?? node.changed)
    }
    let found = try FSError.translating(try base.known(number))
    guard let found else { throw .stale }
    // Each field is read in place: a copy of the record takes longer than the rest.
    let (kind, attributes) = (found.inode.record.kind, found.inode.record.attributes)
    let (length, links) = (found.inode.record.stored.length, found.inode.links)
    let changed = found.inode.record.changed
    let zeros = kind == .directory ? 0 : try base.zeroBytes(of: found.inode.record.stored)
    return status(
      of: number, kind, attributes, state,
      links: kind == .directory
        ? state.overlay.subdirectories(of: number, recorded: links) + 2 : links,
      size: length, stored: length - min(zeros, length), changed: changed,
      mtime: found.inode.record.shownTime ?? attributes.mtime ?? changed)
  }

  /// Returns the link count of a directory with pending changes.
  private func links(
    of number: InodeNumber, _ node: NodeMap.Stated, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> Int {
    guard number == .root || node.names > 0 else { return 0 }
    var recorded = 0
    if number == .root || node.isRecorded {
      recorded = try FSError.translating(try base.inode(number)?.links ?? 0)
    }
    return state.overlay.subdirectories(of: number, recorded: recorded) + 2
  }

  @inline(__always)
  private func status(
    of number: InodeNumber, _ kind: EntryKind, _ attributes: Attributes, _ state: TreeState,
    links: Int, size: UInt64, stored: UInt64, changed: Attributes.Time, mtime: Attributes.Time
  ) -> InodeStatus {
    let owner = defaults.owner(attributes)
    let isDirectory = kind == .directory
    return InodeStatus(
      number: number, kind: kind, mode: defaults.mode(attributes, of: kind),
      links: UInt32(clamping: links), uid: owner.uid, gid: owner.gid,
      device: attributes.device ?? Attributes.Device(major: 0, minor: 0),
      size: isDirectory ? 4096 : size,
      stored: isDirectory ? 4096 : stored + state.rooms.bytes(of: number), mtime: mtime,
      ctime: changed, atime: state.accessTimes[number] ?? mtime)
  }
}
