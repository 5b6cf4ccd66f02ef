import Inodes
package import LLVSCore
import Platform
package import TreeNames

// Making names: create, mkdir, symlink.

/// Who asks, for the owner of what is made.
package struct Caller: Sendable {
  package var uid: UInt32
  package var gid: UInt32
  /// The thread that asks; 0 if nobody knows.
  package var process: Int32
  /// The permissions that new files do not get, unless the directory has a default access control
  /// list.
  package var umask: UInt32

  package init(uid: UInt32, gid: UInt32, process: Int32, umask: UInt32 = 0) {
    self.uid = uid
    self.gid = gid
    self.process = process
    self.umask = umask & 0o777
  }
}

extension LiveTree {
  /// Takes an inode number that no name ever had.
  func newInode() throws(FSError) -> UInt64 {
    while true {
      let taken: UInt64? = lock.withLock { _ in
        guard let first = spareInodes.first else { return nil }
        spareInodes = (first + 1)..<spareInodes.upperBound
        return first
      }
      if let taken { return taken }
      do throws(StoreError) {
        let more = try store.allotInodes(4096)
        lock.withLock { _ in if spareInodes.isEmpty { spareInodes = more..<(more + 4096) } }
      } catch {
        // Once in thousands of names the store has to write: with what was put aside, if need be.
        guard error.isNoSpace, reclaim() || journal.giveUpReserve() else { throw FSError(error) }
      }
    }
  }

  /// A number for a name of the base that has none; call with the lock held.
  ///
  /// Numbers are allotted thousands at a time, so the store is asked under the lock next to never.
  func takeSpareInode() -> UInt64 {
    if spareInodes.isEmpty, let first = try? store.allotInodes(65_536) {
      spareInodes = first..<(first + 65_536)
    }
    guard let first = spareInodes.first else { return 0 }
    spareInodes = (first + 1)..<spareInodes.upperBound
    return first
  }

  private func make(
    _ parent: UInt64, _ name: [UInt8], kind: EntryKind, mode: UInt32, target: [UInt8] = [],
    device: Attributes.Device? = nil, caller: Caller, saved: Bool, open: LiveHandle.Mode? = nil
  ) throws(FSError) -> (NodeStatus, LiveHandle?) {
    guard name != ReservedName.bytes else { throw .exists }
    try withRoom { () throws(FSError) in try journal.reserve(1024 + target.count) }
    let inode = try newInode()
    let process = threads.process(of: caller.process)
    confirm(process, parent, name)
    let given = try permissions(kind, mode & 0o7777, in: parent, caller)
    let (result, position) = try withChild(parent, name) {
      (directory, child) throws(FSError) -> ((NodeStatus, LiveHandle?), Journal.Position) in
      guard child == nil else { throw .exists }
      guard directory.inode == Self.rootInode || directory.parent != nil else { throw .noEntry }
      try checkReach(name, in: directory)
      let now = Self.now()
      var attributes = given
      attributes.mtime = kind == .directory ? nil : now
      attributes.device = device
      if defaults.keepsOwners, caller.uid != defaults.uid { attributes.uid = caller.uid }
      let directoryMode = directory.attributes.mode ?? 0o755
      let group =
        directoryMode & 0o2000 != 0 ? directory.attributes.gid ?? defaults.gid : caller.gid
      if defaults.keepsOwners, group != defaults.gid { attributes.gid = group }
      if kind == .directory, directoryMode & 0o2000 != 0 {
        attributes.mode = (attributes.mode ?? 0) | 0o2000
      }
      defaults.nameOwner(in: &attributes, of: kind)
      ensureJournaled(directory)
      let position = perform(
        .create(
          inode: inode, parent: directory.inode, name: name, kind: kind, attributes: attributes,
          target: target, time: now, saved: saved))
      guard let node = nodes[inode] else { throw .io }
      node.lookups += 1
      noteChange(at: name, of: directory, by: process)
      var handle: LiveHandle?
      if let open {
        let seen = min(
          remembered(absent: place(of: process, at: node), name, of: directory) ?? epoch, epoch)
        handle = LiveHandle(
          node: node, mode: open.union(.created), epoch: seen, stamp: stamp, process: process)
        node.file?.writerEpoch = seen
        node.handles += 1
        node.writers += 1
      }
      return ((status(of: node), handle), position)
    }
    do throws(FSError) {
      try journal.commit(through: position)
    } catch {
      takeBack(inode, parent, name, isOpen: open != nil)
      throw error
    }
    return result
  }

  /// The mode and the access control lists that a new node gets.
  private func permissions(
    _ kind: EntryKind, _ mode: UInt32, in parent: UInt64, _ caller: Caller
  ) throws(FSError) -> Attributes {
    guard kind != .symlink else { return Attributes() }
    guard let inherited = try defaultACL(of: parent) else {
      return Attributes(mode: mode & ~caller.umask)
    }
    let (acl, common) = inherited.inherited(with: mode)
    var attributes = Attributes(mode: common)
    if !acl.isMode { attributes.set(acl, ExtendedName.accessACL) }
    if kind == .directory { attributes.set(inherited, ExtendedName.defaultACL) }
    return attributes
  }

  /// Takes away a name that could not be recorded: whoever made it was told that it is not there.
  ///
  /// What is still to be recorded says that it came and went.
  func takeBack(_ inode: UInt64, _ parent: UInt64, _ name: [UInt8], isOpen: Bool = false) {
    lock.withLock { _ in
      guard let node = nodes[inode] else { return }
      node.lookups -= min(node.lookups, 1)
      if isOpen {
        node.handles -= 1
        node.writers -= 1
      }
      guard let directory = known(parent), inMemoryChild(of: directory, name) === node else {
        return dropIfUnused(node)
      }
      perform(.remove(parent: directory.inode, name: name, time: Self.now(), epoch: epoch))
      dropIfUnused(node)
    }
  }

  /// Makes and opens a regular file; counts a look-up.
  ///
  /// - Throws: ``FSError/exists``, ``FSError/noEntry``, ``FSError/nameTooLong``, ``FSError/system(_:)``
  ///   for a full disk.
  package func create(
    _ parent: UInt64, _ name: [UInt8], mode: UInt32, open: LiveHandle.Mode, caller: Caller
  ) throws(FSError) -> (NodeStatus, LiveHandle) {
    let (status, handle) = try make(
      parent, name, kind: .regular, mode: mode, caller: caller, saved: false, open: open)
    guard let handle else { throw .io }
    return (status, handle)
  }

  /// Makes an empty regular file, a FIFO, a socket or a device node, saved at once: mknod(2); counts a
  /// look-up.
  ///
  /// The kernel itself serves what is opened through such a node; the tree keeps only that it is there.
  ///
  /// - Throws: ``FSError/invalid`` for another kind.
  package func makeNode(
    _ parent: UInt64, _ name: [UInt8], kind: EntryKind, mode: UInt32,
    device: Attributes.Device? = nil, caller: Caller
  ) throws(FSError) -> NodeStatus {
    guard kind != .directory, kind != .symlink else { throw .invalid }
    let isDevice = kind == .characterDevice || kind == .blockDevice
    return try make(
      parent, name, kind: kind, mode: mode, device: isDevice ? device : nil, caller: caller,
      saved: true
    ).0
  }

  /// Makes a directory; counts a look-up.
  package func makeDirectory(
    _ parent: UInt64, _ name: [UInt8], mode: UInt32, caller: Caller
  ) throws(FSError) -> NodeStatus {
    try make(parent, name, kind: .directory, mode: mode, caller: caller, saved: true).0
  }

  /// Makes a symbolic link; counts a look-up.
  package func makeSymlink(
    _ parent: UInt64, _ name: [UInt8], target: [UInt8], caller: Caller
  ) throws(FSError) -> NodeStatus {
    guard !target.isEmpty else { throw .noEntry }
    guard target.count <= 4095 else { throw .nameTooLong }
    return try make(
      parent, name, kind: .symlink, mode: 0o777, target: target, caller: caller, saved: true
    ).0
  }
}
