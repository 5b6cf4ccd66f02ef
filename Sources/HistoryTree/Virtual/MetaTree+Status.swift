import Events
import Inodes
import LLVSCore
package import TreeNames
package import WorkingTree

extension MetaTree {
  package func getattr(_ inode: UInt64) throws(FSError) -> InodeStatus {
    try status(of: try nodes.node(inode), nil)
  }

  /// Returns a node's attributes without counting a look-up.
  package func entry(of inode: UInt64) throws(FSError) -> MetaEntry {
    let node = try nodes.node(inode)
    return MetaEntry(status: try status(of: node, nil), isLasting: isLasting(node))
  }

  func isLasting(_ node: MetaNode) -> Bool {
    switch node.content {
    case .directory(_, let path, let base):
      // The path at the top of a subdirectory's view can be renamed.
      path.count > base || node.root == TreeSession.rootInode
    case .value, .snapshotMeta: true
    // Every path into history begins here.
    case .meta, .versions: node.root == TreeSession.rootInode
    // These never change, but without a shown size they are read each time.
    case .info, .changes: sized != nil
    default: false
    }
  }

  func isFixed(_ node: MetaNode) -> Bool {
    switch node.content {
    case .meta, .versions: false
    default: isLasting(node)
    }
  }

  func status(of node: MetaNode, _ known: Entry?) throws(FSError) -> InodeStatus {
    switch node.content {
    case .meta: return own(node, .directory, mode: 0o755)
    case .peers, .conflicts, .search, .found: return own(node, .directory, mode: 0o700)
    case .heads, .branches, .tags, .versions, .times:
      return own(node, .directory, mode: 0o555)
    case .history(let path):
      let access = try historyPermissions(path)
      var status = own(node, .directory, mode: access.mode)
      (status.uid, status.gid) = (access.uid, access.gid)
      return status
    case .link(let target):
      return own(node, .symlink, mode: 0o777, size: UInt64(target.count))
    case .readme:
      return own(node, .regular, mode: 0o444, size: UInt64(MetaText.readme.count))
    case .control: return own(node, .regular, mode: 0o600, time: .now)
    case .status, .statusJSON: return own(node, .regular, mode: 0o400, time: .now)
    case .log:
      return own(
        node, .regular, mode: 0o400, size: services.log.size, time: .now)
    case .writable(let file):
      let state = file.place.look(file)
      return own(
        node, .regular, mode: state.mode, size: UInt64(state.bytes.count), time: state.mtime)
    case .value(let number, let key):
      if let known { return try status(of: known, inode: node.inode) }
      return try status(of: try entry(number, key), inode: node.inode)
    case .directory(let number, let path, let base):
      var entry = known
      if entry == nil { entry = try directoryEntry(number, path) }
      let stored: InodeStatus
      if let entry {
        stored = try status(of: entry, inode: node.inode)
      } else {
        stored = own(node, .directory, mode: 0o755, time: try snapshots.time(of: number))
      }
      // The top of a subdirectory's view.
      return base > 0 && path.count == base ? try narrowed(stored, number, path) : stored
    case .snapshotMeta(let number, _, _), .parents(let number, _, _):
      return own(node, .directory, mode: 0o555, time: try snapshots.time(of: number))
    case .info(let number, _), .changes(let number, _):
      return own(
        node, .regular, mode: 0o400, size: try sized?.size(of: node, in: self),
        time: try snapshots.time(of: number))
    }
  }

  func directoryEntry(
    _ number: VersionNumber, _ path: [UInt8]
  ) throws(FSError) -> Entry? {
    guard !path.isEmpty else { return nil }
    let view = try snapshots.snapshot(number).view
    let found = try FSError.translating(try view.find(path: path))
    guard case .directory(let entry)? = found else { return nil }
    return entry
  }

  private func own(
    _ node: MetaNode, _ kind: EntryKind, mode: UInt32, size: UInt64? = nil,
    time: Attributes.Time? = nil
  ) -> InodeStatus {
    let time = time ?? born
    return InodeStatus(
      number: InodeNumber(node.inode), kind: kind, mode: mode, links: 1, uid: live.defaults.uid,
      gid: live.defaults.gid, size: size ?? (kind == .directory ? 4096 : 0), mtime: time,
      ctime: time, atime: time)
  }

  /// Returns the status of a version's entry, the same in every version that has this revision.
  private func status(of entry: Entry, inode: UInt64) throws(FSError) -> InodeStatus {
    let attributes = entry.attributes
    let stored = try snapshots.time(of: entry.storedVersion)
    let mtime = attributes.mtime ?? stored
    var mode = live.defaults.mode(attributes, of: entry.kind)
    if hidesPrivileges, entry.kind == .regular { mode &= ~0o6000 }
    let zeros = try FSError.translating(try store.contents.shownZeroBytes(entry.stored))
    // Two links show du, tar and rsync that the bytes may be in other versions too.
    let owner = live.defaults.owner(attributes)
    return InodeStatus(
      number: InodeNumber(inode), kind: entry.kind, mode: mode, links: entry.isDirectory ? 1 : 2,
      uid: owner.uid, gid: owner.gid,
      device: attributes.device ?? Attributes.Device(major: 0, minor: 0),
      size: entry.isDirectory ? 4096 : entry.stored.length,
      stored: entry.isDirectory ? 4096 : entry.stored.length - min(zeros, entry.stored.length),
      mtime: mtime, ctime: stored,
      atime: mtime)
  }
}
