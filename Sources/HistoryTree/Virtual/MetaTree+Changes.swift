import Inodes
import LLVSCore
import Platform
package import TreeNames
package import WorkingTree

// Changes in writable directories; all other changes are refused.

extension MetaTree {
  /// Names that may exist in the `.llvs` of a directory of the working tree.
  private static let reserved: Set<[UInt8]> = Set(
    MetaName.allCases.filter { $0 != .ignore }.map(\.bytes))

  /// The error for a change of extended attributes. Programs that copy attributes ignore ENOTSUP.
  package func refusalOfExtended(of inode: UInt64) -> FSError {
    guard case .writable? = (try? nodes.node(inode))?.content else { return .readOnly }
    return .notSupported
  }

  private func refusal(of node: MetaNode) -> FSError {
    node.content.isHistory ? .readOnly : .notPermitted
  }

  func place(of directory: MetaNode, changing name: [UInt8]) throws(FSError) -> WritablePlace {
    guard directory.content.kind == .directory else { throw .notDirectory }
    guard name.count <= 255 else { throw .nameTooLong }
    guard !name.isEmpty, !name.contains(0), !name.contains(0x2F), name != ReservedName.bytes
    else { throw refusal(of: directory) }
    switch directory.content {
    case .peers: return peerFiles
    case .conflicts(let path):
      // The sides are history; every other name except `merged` is scratch.
      guard name == WritablePlace.mergedName || !Self.isOwnName(name) else { throw .readOnly }
      guard let place = try mergedPlace(of: path) else { throw refusal(of: directory) }
      return place
    case .meta where !Self.reserved.contains(name): return ignoreFiles
    default: throw refusal(of: directory)
    }
  }

  /// Removes a name: a peer is removed, a scratch file is dropped.
  ///
  /// A `process` that was refused a fixed name may remove nothing for ten seconds, so that `rm -r .llvs` changes
  /// nothing.
  /// - Concurrency: may make a version or wait for the kernel, so not for a thread that the kernel waits for.
  /// - Throws: ``FSError/noEntry``; ``FSError/readOnly`` in history, ``FSError/notPermitted`` elsewhere.
  package func unlink(
    _ parent: UInt64, _ name: [UInt8], by process: Int32? = nil
  ) throws(FSError) {
    let directory = try nodes.node(parent)
    if case .conflicts(let path) = directory.content {
      guard let found = try conflictChild(of: path, named: name) else { throw .noEntry }
      if found.content.kind == .directory { throw .isDirectory }
      if case .writable(let file) = found.content { try file.place.unlink(name) }
      // Other files are removed with their directory.
      return
    }
    try noting(process) { () throws(FSError) in
      let place = try place(of: directory, changing: name)
      if case .peers = directory.content, let process { try removals.check(process) }
      try place.unlink(name)
    }
  }

  /// Removes a directory: below `conflicts` this settles the conflict; elsewhere it is refused.
  /// - Concurrency: as ``unlink(_:_:by:)``.
  package func removeDirectory(
    _ parent: UInt64, _ name: [UInt8], by process: Int32? = nil
  ) throws(FSError) {
    let directory = try nodes.node(parent)
    guard let found = try child(of: directory, named: name) else { throw .noEntry }
    guard found.content.kind == .directory else { throw .notDirectory }
    guard case .conflicts = directory.content, case .conflicts(let path) = found.content else {
      let refusal = refusal(of: directory)
      try noting(process) { () throws(FSError) in throw refusal }
      return
    }
    try noting(process) { () throws(FSError) in
      if let process { try removals.check(process) }
    }
    try settle(path)
  }

  private func noting(
    _ process: Int32?, _ body: () throws(FSError) -> Void
  ) throws(FSError) {
    do throws(FSError) {
      try body()
    } catch {
      switch error {
      case .notPermitted, .readOnly: if let process { removals.note(process) }
      default: break
      }
      throw error
    }
  }

  /// Refuses mkdir, mknod, symlink and link.
  package func refuseToMake(_ parent: UInt64, _ name: [UInt8]) throws(FSError) -> Never {
    let directory = try nodes.node(parent)
    guard name.count <= 255 else { throw .nameTooLong }
    if try child(of: directory, named: name) != nil { throw .exists }
    throw refusal(of: directory)
  }

  /// Renames within a writable place.
  /// - Concurrency: as ``unlink(_:_:by:)``.
  /// - Throws: ``FSError/readOnly`` in history and between the trees, ``FSError/crossDevice`` between places.
  package func rename(
    _ fromParent: UInt64, _ from: [UInt8], _ toParent: UInt64, _ to: [UInt8],
    mode: RenameMode
  ) throws(FSError) {
    guard Self.owns(fromParent), Self.owns(toParent) else { throw .readOnly }
    let source = try nodes.node(fromParent)
    let target = try nodes.node(toParent)
    if source.content.isHistory || target.content.isHistory { throw .readOnly }
    let place = try place(of: source, changing: from)
    guard try self.place(of: target, changing: to) === place else { throw .crossDevice }
    try place.rename(from, to, mode: mode)
  }

  /// Changes size, mode and time of writable files; succeeds without effect for a control file.
  /// - Throws: ``FSError/readOnly`` in history, ``FSError/notPermitted`` elsewhere.
  package func setattr(
    _ inode: UInt64, _ change: StatusChange, through handle: MetaFile? = nil
  ) throws(FSError) -> InodeStatus {
    let node = try nodes.node(inode)
    switch node.content {
    case .control:
      // O_TRUNC is accepted and has no effect.
      if change.mode != nil || change.uid != nil || change.gid != nil { throw .notPermitted }
    case .writable(let file):
      if let uid = change.uid, uid != live.defaults.uid { throw .notPermitted }
      if let gid = change.gid, gid != live.defaults.gid { throw .notPermitted }
      if let size = change.size {
        if let handle { try handle.resize(to: size) } else { try file.place.resize(file, to: size) }
      }
      let mtime = change.mtimeIsNow ? Attributes.Time.now : change.mtime
      file.place.change(file, mode: change.mode, mtime: mtime)
      // truncate(2) by path; no flush follows it.
      if change.size != nil, handle == nil, !file.place.makesVersions, !file.place.isOpen(file) {
        try file.place.save(file)
      }
    default: throw refusal(of: node)
    }
    return try getattr(inode)
  }

  private static let userPrefix = Array("user.".utf8)
  private static let ownPrefix = Array("user.llvs.".utf8)

  /// Returns an extended attribute of a version's file, or one of `user.llvs.*`.
  /// - Throws: ``FSError/noData`` if there is none, ``FSError/notSupported`` for another kind of name.
  package func getxattr(_ inode: UInt64, _ name: [UInt8]) throws(FSError) -> [UInt8] {
    if ExtendedName.isACL(name) {
      guard let entry = try recorded(try nodes.node(inode), isShort: true),
        let value = entry.attributes.shownACL(
          name, of: entry.kind, mode: live.defaults.mode(entry.attributes, of: entry.kind))
      else { throw .noData }
      return value
    }
    guard name.starts(with: Self.userPrefix) else {
      if name.starts(with: Array("security.".utf8)) { throw .noData }
      throw .notSupported
    }
    guard name.count > Self.userPrefix.count else { throw .invalid }
    let node = try nodes.node(inode)
    guard let entry = try recorded(node) else { throw .noData }
    guard !name.starts(with: Self.ownPrefix) else {
      return try ownAttribute(entry, name.dropFirst(Self.ownPrefix.count))
    }
    guard let found = entry.attributes.extended.first(where: { $0.name == name }) else {
      throw .noData
    }
    return found.value
  }

  /// Returns the names of all extended attributes, with zero bytes after them.
  package func listxattr(_ inode: UInt64) throws(FSError) -> [UInt8] {
    let entry = try recorded(try nodes.node(inode))
    return entry?.attributes.extended.flatMap { $0.name + [0] } ?? []
  }

  /// Returns the recorded entry of a node, which may be shortened.
  private func recorded(
    _ node: MetaNode, isShort: Bool = false
  ) throws(FSError) -> Entry? {
    switch node.content {
    case .value(let number, let key): return try entry(number, key, isShort: isShort)
    case .directory(let number, let path, _): return try directoryEntry(number, path)
    default: return nil
    }
  }

  private func ownAttribute(
    _ entry: Entry, _ name: some Collection<UInt8>
  ) throws(FSError) -> [UInt8] {
    switch String(decoding: name, as: UTF8.self) {
    case "key": return entry.key.bytes
    case "state": return Array("committed".utf8)
    case "version":
      return Array(try snapshots.snapshot(entry.storedVersion).record.name.utf8)
    case "revisions":
      return try FSError.wrapping { () throws(StoreError) in
        Array(String(try store.keptVersions(changing: entry.key).count).utf8)
      }
    case "bytes":
      let isHere = try FSError.translating(try store.canRead(entry.stored))
      return Array((isHere ? "here" : "forgotten").utf8)
    default: throw .noData
    }
  }
}
