package import Inodes
import LLVSCore
import Platform
package import TreeNames

// Changing attributes. The kernel has checked permissions.

/// The recorded or pending attributes of an inode, with the shown mtime.
struct KnownAttributes {
  var kind: EntryKind
  var attributes: Attributes
  /// True if they lack the long extended ones, which the head's map has.
  var lacksExtended: Bool
}

extension WorkingTree {
  /// Changes a file's size and attributes, all or none, and returns the status afterwards. Process 0 is unknown;
  /// the handle is that of ftruncate(2). Throws ``FSError/notPermitted`` for an owner that this tree does not keep,
  /// ``FSError/isDirectory`` and ``FSError/invalid`` for an inode without a size, ``FSError/fileTooBig``,
  /// ``FSError/stale``, or the error of the journal: then nothing has changed.
  package func setattr(
    _ number: InodeNumber, _ change: StatusChange, through handle: HandleNumber? = nil,
    process: Int32 = 0
  ) throws(FSError) -> InodeStatus {
    var asked = change
    // The truncation sets this time.
    if asked.size != nil, asked.mtimeIsNow { asked.mtime = nil }
    guard asked.size != nil || asked.changesAttributes else { return try status(of: number) }
    let change = asked
    let process = writer(through: handle) ?? process
    if change.size != nil { confirm(process) }
    try withRoom { () throws(FSError) in
      try self.change(by: process, mayUseReserve: change.size != nil) {
        state, base throws(FSError) in
        try checkIsShown(number, state, base)
        let operations = try setting(
          change, of: number, through: handle, process: process, state, base)
        return Decision(concerned: [number], operations: operations) { state in
          if let time = change.atime { state.accessTimes[number] = time }
          if change.size != nil { state.handles.noteWrite(through: handle) }
        }
      }
    }
    return try status(of: number)
  }

  /// Removes bits from the mode of a file; throws as ``setattr(_:_:through:process:)``.
  @discardableResult
  package func clearMode(
    _ bits: UInt32, of number: InodeNumber, process: Int32 = 0
  ) throws(FSError) -> InodeStatus {
    var change = StatusChange()
    change.lostSetIDs = bits
    return try setattr(number, change, process: process)
  }

  /// Returns the set-id bits that a file loses by a change of a caller who may not keep them, since they could give
  /// the caller another user's privileges (inode_setattr and file_remove_privs in Linux). Set-group-ID without the
  /// group's execute right is no privilege, so members keep it: `keepsGroup`, called without a lock, tests that.
  package func setIDsLost(
    _ number: InodeNumber, keepsGroup: (UInt32) -> Bool
  ) throws(FSError) -> UInt32 {
    let known = try answer { state, base throws(FSError) in
      try knownAttributes(of: number, state, base)
    }
    guard known.kind != .directory, let mode = known.attributes.mode, mode & Self.setIDs != 0
    else { return 0 }
    var lost = mode & Self.setIDs
    if lost & Self.setGroupID != 0, mode & Self.groupExecutes == 0,
      keepsGroup(defaults.owner(known.attributes).gid)
    {
      lost &= ~Self.setGroupID
    }
    return lost
  }

  private static let setIDs: UInt32 = 0o6000
  private static let setGroupID: UInt32 = 0o2000
  private static let groupExecutes: UInt32 = 0o0010

  /// Returns the attributes of an inode; throws ``FSError/stale`` for an unknown number.
  func knownAttributes(
    of number: InodeNumber, _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> KnownAttributes {
    if let node = state.node(number) {
      return KnownAttributes(
        kind: node.kind, attributes: node.attributes, lacksExtended: node.lacksExtended)
    }
    let inode = try FSError.translating(try base.inode(number))
    guard let record = inode?.record else { throw .stale }
    var attributes = record.attributes
    attributes.mtime = record.shownTime ?? attributes.mtime ?? record.changed
    return KnownAttributes(
      kind: record.kind, attributes: attributes, lacksExtended: record.lacksExtended)
  }

  private func setting(
    _ change: StatusChange, of number: InodeNumber, through handle: HandleNumber?, process: Int32,
    _ state: TreeState, _ base: RememberedBase
  ) throws(FSError) -> [Change.Operation] {
    var setting: [Change.Operation] = []
    if change.changesAttributes {
      let known = try knownAttributes(of: number, state, base)
      let attributes = try changed(known.attributes, of: known.kind, by: change)
      setting = [
        .attributes(
          number, attributes, lacksExtended: known.lacksExtended, setsTime: change.mtime != nil)
      ]
    }
    guard let size = change.size else { return setting }
    let resizing = try resizing(number, to: size, through: handle, process: process, state, base)
    // A new size sets the clock's time, which a given time replaces.
    return change.mtime == nil ? setting + resizing : resizing + setting
  }

  private func changed(
    _ old: Attributes, of kind: EntryKind, by change: StatusChange
  ) throws(FSError) -> Attributes {
    var attributes = old
    if let mode = change.mode { attributes.mode = mode & 0o7777 }
    if let mode = attributes.mode { attributes.mode = mode & ~change.lostSetIDs }
    try give(change, &attributes)
    defaults.nameOwner(in: &attributes, of: kind)
    if let mtime = change.mtime { attributes.mtime = mtime }
    if let mode = change.mode, let list = attributes.acl(ExtendedName.accessACL) {
      attributes.set(list.changed(to: mode), ExtendedName.accessACL)
    }
    // The journal could not be read back.
    guard attributes.fault == nil else { throw .invalid }
    return attributes
  }

  /// Sets a new owner; an ordinary user's tree has one owner, which cannot change.
  private func give(_ change: StatusChange, _ attributes: inout Attributes) throws(FSError) {
    guard defaults.keepsOwners else {
      if let uid = change.uid, uid != defaults.uid { throw .notPermitted }
      if let gid = change.gid, gid != defaults.gid { throw .notPermitted }
      return
    }
    if let uid = change.uid { attributes.uid = uid == defaults.uid ? nil : uid }
    if let gid = change.gid { attributes.gid = gid == defaults.gid ? nil : gid }
  }
}
