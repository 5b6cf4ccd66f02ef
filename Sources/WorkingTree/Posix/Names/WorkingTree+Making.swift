package import Inodes
package import LLVSCore
import Platform
package import TreeNames

private struct NewInode {
  var kind: EntryKind
  var mode: UInt32
  var content = FileContent()
  var device: Attributes.Device?
  /// True if the next version takes it unchanged.
  var isSaved: Bool
  /// How it is opened at once; nil if it is not.
  var opening: OpenMode?
}

extension WorkingTree {
  /// Makes and opens a regular file; the kernel then knows it. Throws ``FSError/exists``, ``FSError/noEntry`` in a
  /// removed directory, ``FSError/notDirectory``, ``FSError/nameTooLong``, ``FSError/noSpace``: then nothing has
  /// changed.
  package func create(
    _ directory: InodeNumber, _ name: FileName, mode: UInt32, open: OpenMode, caller: Caller
  ) throws(FSError) -> (status: InodeStatus, handle: HandleNumber) {
    let new = NewInode(kind: .regular, mode: mode, isSaved: false, opening: open)
    let (status, handle) = try make(
      new, at: InodeName(directory: directory, name: name), by: caller)
    guard let handle else { throw .io }
    return (status, handle)
  }

  /// Makes and saves an empty regular file, a FIFO, a socket or a device node, as mknod(2); the kernel then knows
  /// it, and itself serves opens of special files. Throws ``FSError/invalid`` for another kind, and as
  /// ``create(_:_:mode:open:caller:)``.
  package func makeNode(
    _ directory: InodeNumber, _ name: FileName, kind: EntryKind, mode: UInt32,
    device: Attributes.Device? = nil, caller: Caller
  ) throws(FSError) -> InodeStatus {
    guard kind != .directory, kind != .symlink else { throw .invalid }
    let isDevice = kind == .characterDevice || kind == .blockDevice
    let new = NewInode(kind: kind, mode: mode, device: isDevice ? device : nil, isSaved: true)
    return try make(new, at: InodeName(directory: directory, name: name), by: caller).status
  }

  /// Makes a directory; the kernel then knows it. Throws as ``create(_:_:mode:open:caller:)``.
  package func makeDirectory(
    _ directory: InodeNumber, _ name: FileName, mode: UInt32, caller: Caller
  ) throws(FSError) -> InodeStatus {
    let new = NewInode(kind: .directory, mode: mode, isSaved: true)
    return try make(new, at: InodeName(directory: directory, name: name), by: caller).status
  }

  /// Makes a symbolic link; the kernel then knows it. Throws ``FSError/noEntry`` for an empty target,
  /// ``FSError/nameTooLong`` for one of more than 4,095 bytes, and as ``create(_:_:mode:open:caller:)``.
  package func makeSymlink(
    _ directory: InodeNumber, _ name: FileName, target: [UInt8], caller: Caller
  ) throws(FSError) -> InodeStatus {
    guard !target.isEmpty else { throw .noEntry }
    guard target.count <= 4095 else { throw .nameTooLong }
    return try withRoom { () throws(FSError) in
      let staged = try FSError.translating(
        try target.withUnsafeBytes { bytes in
          Result { () throws(StoreError) in try journal.stage(bytes, at: 0) }
        }.get())
      var new = NewInode(kind: .symlink, mode: 0o777, isSaved: true)
      new.content.write(staged)
      do throws(FSError) {
        return try attempt(new, at: InodeName(directory: directory, name: name), by: caller).status
      } catch {
        journal.abandon(staged)
        throw error
      }
    }
  }

  private func make(
    _ new: NewInode, at place: InodeName, by caller: Caller
  ) throws(FSError) -> (status: InodeStatus, handle: HandleNumber?) {
    try withRoom { () throws(FSError) in try attempt(new, at: place, by: caller) }
  }

  /// Makes an inode, once: bytes that the journal refused must be staged again.
  private func attempt(
    _ new: NewInode, at shown: InodeName, by caller: Caller
  ) throws(FSError) -> (status: InodeStatus, handle: HandleNumber?) {
    guard shown.name.bytes != ReservedName.bytes else { throw .exists }
    guard shown.name.bytes.count <= Self.longestName else { throw .nameTooLong }
    confirm(caller.process)
    let number = try FSError.translating(try numbers.number())
    let (status, handle) = try change(by: caller.process) { state, base throws(FSError) in
      let place = try place(shownAt: shown, state, base)
      try checkHasNames(place.directory, state, base)
      guard try inode(at: place, state, base) == nil else { throw .exists }
      try checkReach(place, state, base)
      let attributes = try attributes(of: new, in: place.directory, caller, state, base)
      let seen = new.kind == .directory ? nil : state.seen(by: caller.process, at: place, over: nil)
      return Decision(
        .create(
          number, at: place, kind: new.kind, attributes: attributes, content: new.content,
          isSaved: new.isSaved, seen: seen), of: place.directory
      ) { state in
        state.noteLookup(number)
        let handle = new.opening.map {
          if $0.contains(.read) { state.noteReading(caller.process, of: number, names: []) }
          // The log of a database is one with the database, which was opened and not made.
          let isLog = place.database != nil
          return state.open(number, isLog ? $0 : $0.union(.created), process: caller.process)
        }
        // A status that needs rows of the recorded tree is read after the change.
        return (try? self.status(of: number, state, base), handle)
      }
    }
    if let status { return (status, handle) }
    return (try self.status(of: number), handle)
  }

  @inline(__always)
  private func attributes(
    of new: NewInode, in directory: InodeNumber, _ caller: Caller, _ state: TreeState,
    _ base: RememberedBase
  ) throws(FSError) -> Attributes {
    let above = try attributes(of: directory, state, base)
    var attributes = permissions(of: new, in: above, caller)
    attributes.mtime = new.kind == .directory ? nil : base.time
    attributes.device = new.device
    // A directory with set-group-ID gives its group to new inodes, and to directories the bit too.
    let givesGroup = (above.mode ?? 0) & 0o2000 != 0
    if defaults.keepsOwners {
      let group = givesGroup ? above.gid ?? defaults.gid : caller.gid
      if caller.uid != defaults.uid { attributes.uid = caller.uid }
      if group != defaults.gid { attributes.gid = group }
    }
    if new.kind == .directory, givesGroup { attributes.mode = (attributes.mode ?? 0) | 0o2000 }
    defaults.nameOwner(in: &attributes, of: new.kind)
    return attributes
  }

  @inline(__always)
  private func permissions(
    of new: NewInode, in directory: Attributes, _ caller: Caller
  ) -> Attributes {
    guard new.kind != .symlink else { return Attributes() }
    let mode = new.mode & 0o7777
    guard let inherited = directory.acl(ExtendedName.defaultACL) else {
      return Attributes(mode: mode & ~caller.umask)
    }
    let (acl, common) = inherited.inherited(with: mode)
    var attributes = Attributes(mode: common)
    if !acl.isMode { attributes.set(acl, ExtendedName.accessACL) }
    if new.kind == .directory { attributes.set(inherited, ExtendedName.defaultACL) }
    return attributes
  }

  /// Returns the recorded or pending attributes of an inode.
  @inline(__always)
  func attributes(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> Attributes {
    if let attributes = state.overlay.nodes.attributes(of: number) { return attributes }
    let inode = try FSError.translating(try base.inode(number))
    guard let record = inode?.record else {
      guard number == .root else { throw .stale }
      return Attributes()
    }
    return record.attributes
  }
}
