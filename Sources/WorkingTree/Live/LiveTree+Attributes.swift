import Inodes
import LLVSCore
import Platform
package import TreeNames

// Attributes and extended attributes.

extension LiveTree {
  /// Changes a node's size and attributes, all of them or, where it throws or the process dies, none.
  ///
  /// - Throws: ``FSError/notPermitted`` for an owner that is not kept yet, ``FSError/isDirectory`` and
  ///   ``FSError/invalid`` for a size of what has none, ``FSError/fileTooBig``, ``FSError/stale``,
  ///   ``FSError/system(_:)`` for a full disk.
  package func setattr(
    _ inode: UInt64, _ change: StatusChange, through handle: LiveHandle? = nil, thread: Int32 = 0
  ) throws(FSError) -> NodeStatus {
    var change = change
    // The mtime of a truncation comes with it.
    if change.size != nil, change.mtimeIsNow { change.mtime = nil }
    guard change.size != nil || change.changesAttributes else { return try getattr(inode) }
    let process = try prepare(change, of: inode, through: handle, thread)
    let setter = change.changesAttributes ? threads.process(of: thread) : 0
    let isListed = change.mode != nil && lock.withLock { _ in known(inode)?.hasACL == true }
    let (status, records, before) = try withAttributes(inode, whole: isListed) {
      (node, whole) throws(FSError) -> (NodeStatus, [Journal.Position], StatusBefore?) in
      let now = Self.now()
      // All that can be refused is, before anything changes.
      let resize = try resizing(node, change, through: handle, process, at: now)
      let setting = try attributing(node, whole, change, at: now)
      let changes = [resize, setting].compactMap { $0 }
      let atime = accessTimes[inode]
      if let time = change.atime {
        accessTimes[node.inode] = time
      } else if change.mtime != nil || change.size != nil {
        keepAccessTime(of: node)
      }
      guard !changes.isEmpty else { return (self.status(of: node), [], nil) }
      if change.size != nil {
        handle?.wroteSinceFlush = true
        handle?.wrote = true
      }
      ensureJournaled(node)
      var before = StatusBefore(node, size: change.size, atime: atime)
      let records = perform(changes)
      before.changed = node.stamp
      if case .resize(_, _, _, _, let flags)? = resize, flags.contains(.savedAtOnce) {
        noteSaver(of: node, process)
      }
      noteSetter(of: node, setter)
      return (self.status(of: node), records, before)
    }
    if let before { try commit(records, orRestore: before) }
    return counting(status)
  }

  /// Makes room for what a change records, without the lock; returns who makes it, where that is asked for.
  private func prepare(
    _ change: StatusChange, of inode: UInt64, through handle: LiveHandle?, _ thread: Int32
  ) throws(FSError) -> Int32 {
    let bytes = (change.size != nil ? 1024 : 0) + (change.changesAttributes ? 4096 : 0)
    if let size = change.size, size > Self.sizeLimit { throw .fileTooBig }
    if bytes > 0 {
      try withRoom { () throws(FSError) in
        try journal.reserve(bytes, isRemoval: change.size != nil)
      }
    }
    guard change.size != nil else { return 0 }
    let process = handle == nil ? threads.process(of: thread) : 0
    confirm(process, at: inode)
    return process
  }

  /// The change of a node's attributes, if there is one; call with the lock held.
  private func attributing(
    _ node: LiveNode, _ whole: Attributes, _ change: StatusChange, at time: Attributes.Time
  ) throws(FSError) -> Change? {
    guard change.changesAttributes else { return nil }
    var attributes = whole
    if let mode = change.mode { attributes.mode = mode & 0o7777 }
    if let mode = attributes.mode { attributes.mode = mode & ~change.lostSetIDs }
    try give(change, &attributes)
    defaults.nameOwner(in: &attributes, of: node.kind)
    if change.size != nil { attributes.mtime = time }
    if let mtime = change.mtime { attributes.mtime = mtime }
    var changesList = false
    if let mode = change.mode, let acl = attributes.acl(ExtendedName.accessACL) {
      attributes.set(acl.changed(to: mode), ExtendedName.accessACL)
      changesList = true
    }
    // Otherwise the extended attributes do not change.
    if !changesList { attributes.extended = [] }
    return .setAttributes(
      inode: node.inode, attributes: attributes, keepsExtended: !changesList, time: time,
      explicitTime: change.mtime != nil)
  }

  /// Notes a new owner; an ordinary user's tree has one owner, who can only be named again.
  private func give(
    _ change: StatusChange, _ attributes: inout Attributes
  ) throws(FSError) {
    guard defaults.keepsOwners else {
      if let uid = change.uid, uid != defaults.uid { throw .notPermitted }
      if let gid = change.gid, gid != defaults.gid { throw .notPermitted }
      return
    }
    if let uid = change.uid { attributes.uid = uid == defaults.uid ? nil : uid }
    if let gid = change.gid { attributes.gid = gid == defaults.gid ? nil : gid }
  }

  /// Gives a node attributes, all of them.
  private func record(
    _ attributes: Attributes, of node: LiveNode, by process: Int32
  ) -> (Journal.Position, AttributesBefore) {
    ensureJournaled(node)
    var before = AttributesBefore(node, atime: accessTimes[node.inode])
    let position = perform(
      .setAttributes(
        inode: node.inode, attributes: attributes, keepsExtended: false, time: Self.now(),
        explicitTime: false))
    before.changed = node.stamp
    noteSetter(of: node, process)
    return (position, before)
  }

  // MARK: - Extended attributes

  static let extendedValueLimit = 65_536
  private static let userPrefix = Array("user.".utf8)
  private static let ownPrefix = Array("user.llvs.".utf8)

  private func checkExtended(_ name: [UInt8]) throws(FSError) {
    guard name.count <= 255 else { throw .outOfRange }
    guard !ExtendedName.isACL(name) else { return }
    guard name.starts(with: Self.userPrefix) else { throw .notSupported }
    // As ext4: a name space without a name.
    guard name.count > Self.userPrefix.count else { throw .invalid }
  }

  /// Runs `body` with the lock held, a node, and its attributes with those that only a version has.
  private func withWhole<R>(
    _ inode: UInt64, _ body: (LiveNode, Attributes) throws(FSError) -> R
  ) throws(FSError) -> R {
    var known: (place: StoredExtended, extended: [Attributes.Extended])?
    while true {
      let (place, result) = try lock.withLock { _ throws(FSError) -> (StoredExtended?, R?) in
        let node = try node(inode)
        var attributes = node.attributes
        if let place = node.storedExtended {
          guard let known, known.place === place else { return (place, nil) }
          attributes.extended = known.extended
        }
        return (nil, try body(node, attributes))
      }
      if let result { return result }
      guard let place else { continue }
      try FSError.wrapping { () throws(StoreError) in
        known = (place, try extendedCache.extended(at: place))
      }
    }
  }

  /// Runs `body` with the lock held, a node, and its attributes, with all extended ones if `whole`.
  private func withAttributes<R>(
    _ inode: UInt64, whole: Bool, _ body: (LiveNode, Attributes) throws(FSError) -> R
  ) throws(FSError) -> R {
    if whole { return try withWhole(inode, body) }
    return try lock.withLock { _ throws(FSError) in
      let node = try node(inode)
      return try body(node, node.attributes)
    }
  }

  /// Returns the access control list that new files in a directory inherit; nil if there is none.
  func defaultACL(of inode: UInt64) throws(FSError) -> PosixACL? {
    try lock.withLock { _ throws(FSError) in
      let node = try directory(inode)
      return node.hasACL ? node.attributes.acl(ExtendedName.defaultACL) : nil
    }
  }

  /// The value of an extended attribute.
  ///
  /// - Throws: ``FSError/noData`` if there is none, ``FSError/notSupported`` for a name that is neither
  ///   in `user.` nor an access control list's, ``FSError/store(_:)`` if it cannot be read.
  package func getxattr(_ inode: UInt64, _ name: [UInt8]) throws(FSError) -> [UInt8] {
    if ExtendedName.isACL(name) {
      return try lock.withLock { _ throws(FSError) in
        let node = try node(inode)
        guard node.hasACL else { throw .noData }
        let attributes = node.attributes
        let mode = defaults.mode(attributes, of: node.kind)
        guard let value = attributes.shownACL(name, of: node.kind, mode: mode) else {
          throw .noData
        }
        return value
      }
    }
    guard name.starts(with: Self.userPrefix) else {
      // Asked on every write; the answer must not cost a look at anything.
      if name.starts(with: Array("security.".utf8)) { throw .noData }
      throw .notSupported
    }
    guard name.count > Self.userPrefix.count else { throw .invalid }
    guard !name.starts(with: Self.ownPrefix) else { return try ownAttribute(inode, name) }
    return try withWhole(inode) { (_, attributes) throws(FSError) in
      guard let found = attributes.extended.first(where: { $0.name == name }) else {
        throw .noData
      }
      return found.value
    }
  }

  /// The names of all extended attributes, each followed by a zero byte.
  package func listxattr(_ inode: UInt64) throws(FSError) -> [UInt8] {
    try withWhole(inode) { (_, attributes) throws(FSError) in
      attributes.extended.flatMap { $0.name + [0] }
    }
  }

  /// How setxattr(2) treats a name that is there, or is not.
  package struct ExtendedMode: OptionSet, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let either: ExtendedMode = []
    /// One that is there is refused.
    package static let create = ExtendedMode(rawValue: 1)
    /// One that is not there is refused; with `create`, every one is, each for its own reason.
    package static let replace = ExtendedMode(rawValue: 2)
  }

  /// Sets an extended attribute.
  ///
  /// - Throws: ``FSError/exists``, ``FSError/noData``, ``FSError/tooBig``, ``FSError/notSupported``.
  package func setxattr(
    _ inode: UInt64, _ name: [UInt8], _ value: [UInt8], mode: ExtendedMode, thread: Int32 = 0,
    lostSetIDs: UInt32 = 0
  ) throws(FSError) {
    try checkExtended(name)
    guard value.count <= Self.extendedValueLimit else { throw .tooBig }
    guard !name.starts(with: Self.ownPrefix) else { throw .notPermitted }
    if ExtendedName.isACL(name), PosixACL.isNone(value) {
      return try removexattr(inode, name, thread: thread)
    }
    let process = threads.process(of: thread)
    try withRoom { () throws(FSError) in try journal.reserve(4096 + value.count) }
    let done = try withWhole(inode) {
      (node, attributes) throws(FSError) -> (Journal.Position, AttributesBefore)? in
      let known = attributes.extended.first { $0.name == name }
      if ExtendedName.isACL(name) {
        let changed = try setting(name, to: value, of: node, attributes, lostSetIDs)
        return changed == attributes ? nil : record(changed, of: node, by: process)
      }
      guard node.kind == .regular || node.kind == .directory else { throw .notPermitted }
      var attributes = attributes
      if mode.contains(.create), known != nil { throw .exists }
      if mode.contains(.replace), known == nil { throw .noData }
      if known?.value == value { return nil }
      attributes.setExtended(value, name)
      // What no version could hold is refused now.
      guard attributes.fault == nil else { throw .noSpace }
      return record(attributes, of: node, by: process)
    }
    if let (position, before) = done { try commit([position], orRestore: before) }
  }

  /// Returns a node's attributes with an access control list and the mode that follows from it. A list
  /// that a mode can express is not kept. Call with the lock held.
  private func setting(
    _ name: [UInt8], to value: [UInt8], of node: LiveNode, _ attributes: Attributes,
    _ lostSetIDs: UInt32
  ) throws(FSError) -> Attributes {
    guard node.kind != .symlink else { throw .notSupported }
    guard let acl = PosixACL(value) else { throw .invalid }
    var attributes = attributes
    if name == ExtendedName.accessACL {
      attributes.set(acl.isMode ? nil : acl, name)
      let old = defaults.mode(attributes, of: node.kind)
      attributes.mode = (old & 0o7000 | acl.mode) & ~lostSetIDs
    } else {
      guard node.kind == .directory else { throw .accessDenied }
      attributes.set(acl, name)
    }
    guard attributes.fault == nil else { throw .noSpace }
    return attributes
  }

  /// Removes an extended attribute. An access control list that does not exist is no error.
  package func removexattr(
    _ inode: UInt64, _ name: [UInt8], thread: Int32 = 0
  ) throws(FSError) {
    try checkExtended(name)
    guard !name.starts(with: Self.ownPrefix) else { throw .notPermitted }
    let process = threads.process(of: thread)
    try withRoom { () throws(FSError) in try journal.reserve(4096) }
    let done = try withWhole(inode) {
      (node, attributes) throws(FSError) -> (Journal.Position, AttributesBefore)? in
      guard attributes.extended.contains(where: { $0.name == name }) else {
        if ExtendedName.isACL(name) { return nil }
        throw .noData
      }
      var attributes = attributes
      attributes.setExtended(nil, name)
      return record(attributes, of: node, by: process)
    }
    if let (position, before) = done { try commit([position], orRestore: before) }
  }

  /// `user.llvs.key`, `.state`, `.version` and `.revisions`: answered, never listed.
  private func ownAttribute(_ inode: UInt64, _ name: [UInt8]) throws(FSError) -> [UInt8] {
    let (path, state, version, view, head) = try lock.withLock {
      _ throws(FSError) -> ([UInt8], String, VersionNumber?, TreeView, VersionNumber?) in
      let node = try node(inode)
      guard let path = node.path else { throw .noData }
      return (path, stateName(of: node), node.entry?.storedVersion, names, self.head)
    }
    let value = try FSError.wrapping { () throws(StoreError) -> [UInt8]? in
      switch String(decoding: name.dropFirst(Self.ownPrefix.count), as: UTF8.self) {
      case "key": return try view.key(forNewPath: path).bytes
      case "state":
        guard state == "committed", let head else { return Array(state.utf8) }
        let key = try view.key(forNewPath: path)
        let isOpen = try store.openConflictKeys(at: head).contains(key)
        return Array((isOpen ? "conflict" : state).utf8)
      case "version":
        guard let version, let record = try store.version(version) else { return nil }
        return Array(record.name.utf8)
      case "revisions":
        let key = try view.key(forNewPath: path)
        return Array(String(try store.versions(changing: key).count).utf8)
      default: return nil
      }
    }
    guard let value else { throw .noData }
    return value
  }

  /// committed, pending, unsaved or scratch; call with the lock held.
  func stateName(of node: LiveNode) -> String {
    if isScratch(node) { return "scratch" }
    if node.file?.unsaved == true { return "unsaved" }
    return isPending(node) ? "pending" : "committed"
  }

  /// Whether a node itself differs from the base; call with the lock held.
  func isPending(_ node: LiveNode) -> Bool {
    guard node.isTouched, node.inode != Self.rootInode else { return false }
    if !node.isInBase, node.directory?.basePath == nil { return true }
    if node.attributesChanged || node.file?.saved != nil || node.file?.unsaved == true {
      return true
    }
    return node.isMoved
  }

  /// Whether a name on a node's way matches an ignore pattern and no version has it; lock held.
  func isScratch(_ start: LiveNode) -> Bool {
    var node = start
    while let parent = node.parent {
      if let override = parent.directory?.overrides[node.name], override.node === node,
        let path = node.path, isIgnored(node, override, at: path)
      {
        return true
      }
      node = parent
    }
    return false
  }
}
